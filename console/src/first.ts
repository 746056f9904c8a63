// What the first page needs. Other pages import it too, so that all of it is one file, not one for each set of pages that share something.
import "./pages/flow.tsx";
import "./pages/login.tsx";
import "./parts/keys.tsx";
import "./parts/later.tsx";
import "./parts/tour.tsx";
import "./state/rights.ts";
import "./state/route.ts";
import "./state/servers.ts";
import "./state/theme.ts";
