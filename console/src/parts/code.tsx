// SQL to read, with a way to the editor.
import { formatRoute } from "../state/route.ts";

export function Code({ sql, isEditable = true }: { sql: string; isEditable?: boolean }) {
  return (
    <>
      <pre>{sql}</pre>
      {isEditable && sql !== "" && <p><a href={formatRoute("editor", "", { sql })}>Open in the editor</a></p>}
    </>
  );
}
