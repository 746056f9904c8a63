// The editor of SQL: CodeMirror, with our words. It lives in a shadow tree, where its styles need no exception
// from the page's content security policy.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, type Completion, type CompletionContext } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { SQLDialect, sql } from "@codemirror/lang-sql";
import { bracketMatching, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState, Prec } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useLayoutEffect, useRef } from "preact/hooks";
import { offers } from "../sql/complete.ts";
import { metadata } from "../sql/metadata.ts";
import { roleNow } from "../state/rights.ts";
import words from "../sql/words.json";

const KSQL = SQLDialect.define({
  keywords: words.keywords.join(" ").toLowerCase(),
  types: words.types.map((name) => name.replace("<", "")).join(" ").toLowerCase(),
  identifierQuotes: '`"',
  doubleDollarQuotedStrings: true,
  slashComments: false,
  operatorChars: "+-*/%<>=|",
});

const COLOURS = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--code-keyword)", fontWeight: "600" },
  { tag: [tags.typeName, tags.standard(tags.name)], color: "var(--code-type)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--code-number)" },
  { tag: [tags.lineComment, tags.blockComment], color: "var(--faint)", fontStyle: "italic" },
]);

const THEME = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--field)", height: "100%", fontSize: "var(--t2)" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--field)", color: "var(--faint)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--selected)" },
  ".cm-tooltip": { backgroundColor: "var(--raised)", color: "var(--text)", border: "1px solid var(--rule)", borderRadius: "var(--small-radius)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-panels": { backgroundColor: "var(--raised)", color: "var(--text)" },
  ".cm-placeholder": { color: "var(--faint)" },
});

/** What the page asks of the editor. */
export interface SqlEditor {
  /** All of the text; where the cursor is; what is selected, or empty. */
  read(): { text: string; cursor: number; from: number; to: number };
  mark(diagnostics: Diagnostic[]): void;
  /** Put a text where the cursor is. */
  insert(text: string): void;
  /** Add a statement at the end, and go there. */
  append(statement: string): void;
}

interface Props {
  text: string;
  onChange: (text: string) => void;
  /** Ctrl-Enter; with Shift, all statements. */
  onRun: (all: boolean) => void;
  onReady: (editor: SqlEditor) => void;
}

export function SqlEditorView({ text, onChange, onRun, onReady }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const calls = useRef({ onChange, onRun });
  calls.current = { onChange, onRun };
  useLayoutEffect(() => {
    const root = host.current!.shadowRoot ?? host.current!.attachShadow({ mode: "open" });
    const run = (all: boolean) => () => (calls.current.onRun(all), true);
    const view = new EditorView({
      parent: root,
      root,
      state: EditorState.create({
        doc: text,
        extensions: [
          Prec.highest(keymap.of([{ key: "Mod-Enter", run: run(false) }, { key: "Mod-Shift-Enter", run: run(true) }])),
          lineNumbers(), lintGutter(), history(), drawSelection(), bracketMatching(), closeBrackets(), highlightActiveLine(),
          highlightSelectionMatches(),
          autocompletion({ override: [complete], icons: false }),
          sql({ dialect: KSQL }),
          syntaxHighlighting(COLOURS),
          THEME,
          EditorView.contentAttributes.of({ "aria-label": "SQL" }),
          placeholder("SELECT * FROM … EMIT CHANGES;"),
          keymap.of([...closeBracketsKeymap, ...completionKeymap, ...searchKeymap, ...historyKeymap, indentWithTab, ...defaultKeymap]),
          EditorView.updateListener.of((update) => update.docChanged && calls.current.onChange(update.state.doc.toString())),
        ],
      }),
    });
    onReady({
      read: () => {
        const { head, from, to } = view.state.selection.main;
        return { text: view.state.doc.toString(), cursor: head, from, to };
      },
      mark: (diagnostics) => view.dispatch(setDiagnostics(view.state, diagnostics)),
      insert: (text) => {
        view.dispatch(view.state.replaceSelection(text));
        view.focus();
      },
      append: (statement) => {
        const end = view.state.doc.length;
        const insert = end === 0 ? statement : `\n\n${statement}`;
        view.dispatch({ changes: { from: end, insert }, selection: { anchor: end + insert.length }, scrollIntoView: true });
        view.focus();
      },
    });
    return () => view.destroy();
  }, []);
  return <div class="sql" ref={host} />;
}

function complete(context: CompletionContext) {
  const word = context.matchBefore(/[\w@.-]*/);
  const before = context.state.doc.sliceString(0, context.pos);
  const start = /['"]/.test(context.state.sliceDoc(Math.max(0, (word?.from ?? 0) - 1), word?.from ?? 0)) ? word!.from : context.matchBefore(/\w*/)!.from;
  if (start === context.pos && !context.explicit && !/[\s.'(]$/.test(before)) return null;
  const found = offers(before, metadata.value, roleNow());
  if (!context.explicit && start === context.pos && found.length > 60) return null;
  const typed = before.slice(start);
  const isLower = typed !== "" && typed === typed.toLowerCase();
  const options = found.map(({ label, kind, text }, index): Completion => {
    const shown = isLower && (kind === "keyword" || kind === "function" || kind === "type") ? (text ?? label).toLowerCase() : (text ?? label);
    return { label, apply: text?.includes("\n") ? text : shown, detail: kind, boost: Math.max(-99, 50 - index / 4) };
  });
  return { from: start, options, validFor: /^[\w@.-]*$/ };
}
