// Dark or light: as the system has it, unless the user has chosen.
import { signal } from "@preact/signals";
import { recall, remember } from "./stored.ts";

type Theme = "dark" | "light";

const system = typeof matchMedia === "undefined" ? null : matchMedia("(prefers-color-scheme: dark)");

function now(): Theme {
  return recall<Theme | null>("theme", null) ?? (system?.matches ? "dark" : "light");
}

export const theme = signal<Theme>("light");

export function applyTheme(): void {
  theme.value = now();
  document.documentElement.dataset.theme = theme.value;
  system?.addEventListener("change", () => {
    theme.value = now();
    document.documentElement.dataset.theme = theme.value;
  });
}

export function toggleTheme(): void {
  theme.value = theme.value === "dark" ? "light" : "dark";
  remember("theme", theme.value);
  document.documentElement.dataset.theme = theme.value;
}
