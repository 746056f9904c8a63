// An error of the server, with its lines as they are.
import { ApiError } from "../api/client.ts";

export function Problem({ error }: { error: unknown }) {
  const code = error instanceof ApiError ? ` (${error.body.error_code})` : "";
  return (
    <div class="problem" role="alert">
      <strong>Error{code}</strong>
      <pre>{error instanceof Error ? error.message : String(error)}</pre>
    </div>
  );
}
