// The statements of the taxi story are those of examples/taxi.
import sql from "../../../examples/taxi/taxi.sql";

/** Without the directives of the demo. */
export const TAXI_SQL = sql.split("\n").filter((line) => !line.startsWith("--@")).join("\n").replace(/\n{3,}/g, "\n\n").trim();
