// The model that Cube makes from a database's catalog: file names and their texts, as JSON. node scaffold.cjs NODE_MODULES PORT TABLE…
const { createRequire } = require("node:module");
const [, , packages, port, ...tables] = process.argv;
const load = createRequire(`${packages}/`);
const { PostgresDriver } = load("@cubejs-backend/postgres-driver");
const { ScaffoldingTemplate } = load("@cubejs-backend/schema-compiler");

(async () => {
  const driver = new PostgresDriver({ host: "127.0.0.1", port, database: "ksql", user: "me" });
  const made = new ScaffoldingTemplate(await driver.tablesSchema(), driver).generateFilesByTableNames(tables);
  console.log(JSON.stringify(Object.fromEntries(made.map((one) => [one.fileName, one.content]))));
  await driver.release();
})();
