// The login form, for users with passwords and for bearer tokens.
import { useState } from "preact/hooks";
import { authorization, loginWanted, logIn, send } from "../api/client.ts";

export function LoginPage() {
  const [way, setWay] = useState<"basic" | "bearer">("basic");
  const [problem, setProblem] = useState(authorization.value !== null ? loginWanted.value : null);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const data = new FormData(event.target as HTMLFormElement);
    const header = way === "basic" ? basic(String(data.get("user")), String(data.get("password"))) : `Bearer ${String(data.get("token")).trim()}`;
    try {
      await send("info", { headers: { Authorization: header } });
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
      return;
    }
    logIn(header);
  };
  return (
    <form class="card login" onSubmit={submit}>
      <h1>Log in</h1>
      <fieldset class="choice">
        <legend>With</legend>
        <label><input type="radio" name="way" checked={way === "basic"} onChange={() => setWay("basic")} /> a password</label>
        <label><input type="radio" name="way" checked={way === "bearer"} onChange={() => setWay("bearer")} /> a token</label>
      </fieldset>
      {way === "basic" ? (
        <>
          <label>User <input name="user" autocomplete="username" required /></label>
          <label>Password <input name="password" type="password" autocomplete="current-password" required /></label>
        </>
      ) : (
        <label>Bearer token <input name="token" type="password" autocomplete="off" required /></label>
      )}
      {problem !== null && <p class="problem" role="alert">{problem}</p>}
      <button class="main" type="submit">Log in</button>
      <p class="hint">Kept in this tab until it is closed.</p>
    </form>
  );
}

/** The header of a user and a password, in UTF-8. */
function basic(user: string, password: string): string {
  return `Basic ${btoa(String.fromCharCode(...new TextEncoder().encode(`${user}:${password}`)))}`;
}
