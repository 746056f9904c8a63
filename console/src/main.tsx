import { render } from "preact";
import { App } from "./app.tsx";
import { followGraph } from "./state/graph.ts";
import { followHash } from "./state/route.ts";
import { applyTheme } from "./state/theme.ts";
import "./style.css";

applyTheme();
followHash();
followGraph();
render(<App />, document.getElementById("root")!);
