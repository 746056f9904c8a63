// Starts `ksql-spark lsp` for files of statements.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = () => {
  const settings = workspace.getConfiguration("ksql-spark");
  const server = settings.get("server");
  const run = { command: settings.get("command"), args: ["lsp", ...(server ? ["--server", server] : [])] };
  client = new LanguageClient("ksql-spark", "ksql-spark", run, { documentSelector: [{ language: "ksql" }] });
  return client.start();
};

exports.deactivate = () => client?.stop();
