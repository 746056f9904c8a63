import { render } from "preact";
import { App } from "./app.tsx";
import { followKeys } from "./parts/keys.tsx";
import { followGraph } from "./state/graph.ts";
import { followRights } from "./state/rights.ts";
import { followHash } from "./state/route.ts";
import { followServers } from "./state/servers.ts";
import { applyTheme } from "./state/theme.ts";
import "./first.ts";
import "./style.css";

applyTheme();
followHash();
followGraph();
followRights();
followServers();
followKeys();
render(<App />, document.getElementById("root")!);
