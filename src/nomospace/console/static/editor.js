// A text with its language's colours, and marks where something was found in it.
// - `value` is what it begins with, and `first` what it would without anything typed; `put` writes another text, `mark` shows what was found.
// - What is typed is told as `change`, a moment after the last key, or when the editor is left;
//   Ctrl-Enter tells it at once and then `submit`.
// Colours are the console's variables, so that light and dark need nothing else. Tab leaves the
// editor, as it leaves any field; findings are told as text, never as markup.
import * as CM from "nicegui-codemirror";

const TOLD_AFTER_MS = 150;
const SAID_MAX = 40; // so many findings stand under their lines

// -- the law language ------------------------------------------------------------------------

const words = (text) => new Set(text.split(" "));
const EVENTS = words("sent arrived submitted adopted certified revoked obligationDue exception disconnected reconnected moved quit");
const PREAMBLE = words("law authority cAuthority initialCS disclose portal");
const PASSES = words("forward deliver release");
const OWES = words("imposeObligation repealObligation");
const GOALS = words("do is not true fail member append delete length nth0 reverse sort sum_list findall between atom_concat atom_length sub_atom split_string upcase_atom atom_number clock obligation");

function lawToken(stream, state) {
  if (stream.eatSpace()) return null;
  if (stream.match(/^%.*/)) return "comment";
  if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return "string";
  if (stream.match(/^'(?:[^'\\]|\\.|'')*'?/)) return "string";
  if (stream.match(/^[A-Z][A-Za-z0-9_]*\.(?=\s)/)) return "labelName"; // R1.
  if (stream.match(/^[A-Z_][A-Za-z0-9_]*'*/)) return "variableName";
  if (stream.match(/^\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?/)) return "number";
  const word = stream.match(/^[a-z][A-Za-z0-9_]*/);
  if (word) {
    if (EVENTS.has(word[0]) || PREAMBLE.has(word[0])) return "keyword";
    if (PASSES.has(word[0])) return "typeName";
    if (OWES.has(word[0])) return "className";
    return GOALS.has(word[0]) ? "meta" : null;
  }
  if (stream.match(/^(?::-|<-|->|\\=+|\\\+|=\\=|==|>=|=<|[@;|<>=+\-*/])/)) return "meta";
  stream.next();
  return null;
}

const law = CM.StreamLanguage.define({
  name: "law", token: lawToken, startState: () => ({}),
  languageData: { commentTokens: { line: "%" } },
});

// -- looks -------------------------------------------------------------------------------------

// Tags are not exported as such; those that we colour are in the default style's own list.
function tagOf(name) {
  for (const spec of CM.defaultHighlightStyle.specs)
    for (const tag of Array.isArray(spec.tag) ? spec.tag : [spec.tag]) {
      if (String(tag) === name) return tag;
      if (tag.base && String(tag.base) === name) return tag.base;
    }
  return null;
}

const colour = (name) => `var(--${name})`;
const STYLES = [
  ["comment", { color: colour("quiet"), fontStyle: "italic" }],
  ["string", { color: colour("held") }],
  ["literal", { color: colour("held") }],
  ["keyword", { color: colour("law"), fontWeight: "600" }],
  ["typeName", { color: colour("forwarded"), fontWeight: "600" }],
  ["className", { color: colour("obligation"), fontWeight: "600" }],
  ["labelName", { color: colour("ink"), fontWeight: "700" }],
  ["variableName", { color: colour("ink"), fontStyle: "italic" }],
  ["propertyName", { color: colour("law") }],
  ["meta", { color: colour("quiet") }],
  ["atom", { color: colour("held") }],
  ["bool", { color: colour("held") }],
  ["invalid", { color: colour("refused") }],
];
const style = CM.HighlightStyle.define(
  STYLES.map(([name, look]) => ({ tag: tagOf(name), ...look })).filter((spec) => spec.tag),
);

const theme = CM.EditorView.theme({
  "&": { height: "100%", color: colour("ink"), backgroundColor: colour("card"), fontSize: "13px" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { overflow: "auto", fontFamily: 'ui-monospace, "SF Mono", Menlo, Consolas, monospace' },
  ".cm-content": { caretColor: colour("ink") },
  ".cm-gutters": { backgroundColor: colour("card"), color: colour("quiet"), border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "transparent" },
  "&.cm-focused .cm-activeLine, &.cm-focused .cm-activeLineGutter": { backgroundColor: colour("hover") },
  ".cm-cursor": { borderLeftColor: colour("ink") },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground":
    { backgroundColor: colour("shared") },
  ".cm-selectionMatch, &.cm-focused .cm-matchingBracket": { backgroundColor: colour("shared"), outline: `1px solid ${colour("line")}` },
  ".cm-panels, .cm-tooltip": { backgroundColor: colour("card"), color: colour("ink"), border: `1px solid ${colour("line")}` },
  ".cm-foldPlaceholder": { backgroundColor: colour("hover"), color: colour("quiet"), border: "none" },
});

// -- what was found ------------------------------------------------------------------------------

const setFound = CM.StateEffect.define();
const found = CM.StateField.define({
  create: () => CM.Decoration.none,
  update(set, change) {
    set = set.map(change.changes);
    for (const effect of change.effects) if (effect.is(setFound)) set = effect.value;
    return set;
  },
  provide: (field) => CM.EditorView.decorations.from(field),
});

const hints = CM.hoverTooltip((view, at) => {
  const said = [];
  view.state.field(found).between(at, at, (from, to, mark) => { if (mark.spec.said) said.push(mark.spec.said); });
  if (!said.length) return null;
  return {
    pos: at, above: true,
    create() {
      const dom = document.createElement("div");
      dom.className = "editor-hint";
      dom.textContent = said.join("\n");
      return { dom };
    },
  };
});

// What was found stands under its line, with what mends it.
class Said extends CM.WidgetType {
  constructor(one, mend) { super(); this.one = one; this.mend = mend; }
  eq(other) { return JSON.stringify(other.one) === JSON.stringify(this.one); }
  toDOM() {
    const line = document.createElement("div");
    line.className = `editor-said editor-said-${this.one.severity}`;
    const words = document.createElement("span");
    words.textContent = `${this.one.severity === "error" ? "✕" : "!"} ${this.one.message}${this.one.help ? `; ${this.one.help}` : ""}`;
    line.append(words);
    for (const { label, start, end, text } of this.one.fixes) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "editor-fix";
      button.textContent = label;
      button.title = "Mend it so";
      button.addEventListener("mousedown", (event) => { event.preventDefault(); this.mend(start, end, text); });
      line.append(button);
    }
    return line;
  }
  ignoreEvent() { return true; }
}

// Python counts characters, the browser counts half of them where they are rare.
function unitOf(text) {
  if (!/[\uD800-\uDBFF]/.test(text)) return (index) => index;
  const units = [0];
  for (const character of text) units.push(units[units.length - 1] + character.length);
  return (index) => units[Math.min(index, units.length - 1)];
}

// A window keeps what was typed in it, so that it is there again when the host was started anew.
const place = (name) => `nomospace.typed.${name}`;
function recall(name) {
  try { return name ? sessionStorage.getItem(place(name)) : null; } catch { return null; }
}
function remember(name, text) {
  try { if (name) sessionStorage.setItem(place(name), text); } catch { /* there is no room; the host has it */ }
}

export default {
  template: `<div class="editor"></div>`,
  props: { value: String, language: String, label: String, keep: String, first: String },
  emits: ["change", "submit"],
  watch: { language() { this.speak(); } },
  mounted() {
    this.tongue = new CM.Compartment();
    this.view = new CM.EditorView({
      doc: this.value || "",
      parent: this.$el,
      extensions: [
        CM.Prec.high(CM.keymap.of([{ key: "Mod-Enter", run: () => { this.tell(); this.$emit("submit"); return true; } }])),
        CM.basicSetup, CM.EditorView.lineWrapping, theme, CM.syntaxHighlighting(style), this.tongue.of([]), found, hints,
        CM.EditorView.contentAttributes.of({ "aria-label": this.label, "aria-multiline": "true", tabindex: "0" }),
        // Whoever leaves the editor for a button or a link expects what was typed to be there.
        CM.EditorView.domEventHandlers({ blur: () => { this.tell(); } }),
        CM.EditorView.updateListener.of((update) => {
          if (!update.docChanged || this.quiet) return;
          clearTimeout(this.telling);
          this.telling = setTimeout(() => this.tell(), TOLD_AFTER_MS);
        }),
      ],
    });
    this.told = this.value || "";
    this.speak();
    const typed = recall(this.keep);
    // The host knows of nothing typed yet; perhaps it has been started anew.
    if (typed !== null && typed !== this.told && this.told === this.first) {
      this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: typed } });
      this.tell();
    }
    this.last = () => { if (!nomospace.host.over) this.tell(); }; // what was typed in the last moment
    window.addEventListener("pagehide", this.last);
  },
  beforeUnmount() {
    window.removeEventListener("pagehide", this.last);
    if (this.telling) this.tell();
    this.view.destroy();
  },
  methods: {
    async speak() {
      let extension = [];
      if (this.language === "law") extension = [law];
      else if (this.language) {
        const known = CM.languages.find((one) => one.name.toLowerCase() === this.language);
        if (known) extension = [await known.load()];
      }
      this.view.dispatch({ effects: this.tongue.reconfigure(extension) });
    },
    tell() {
      clearTimeout(this.telling);
      this.telling = null;
      const text = this.view.state.doc.toString();
      if (text !== this.told) { this.told = text; remember(this.keep, text); this.$emit("change", text); }
    },
    put(text) {
      clearTimeout(this.telling);
      this.telling = null;
      this.quiet = true;
      this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
      this.quiet = false;
      this.told = text;
      remember(this.keep, text);
    },
    mark(text, findings) {
      if (text !== this.view.state.doc.toString()) return; // it has been typed on since
      const unit = unitOf(text), size = this.view.state.doc.length;
      const marks = [];
      for (const one of findings) {
        let from = Math.min(unit(one.start), size), to = Math.min(unit(one.end), size);
        if (from === to) { if (to < size) to += 1; else from = Math.max(0, from - 1); }
        if (from === to) continue;
        marks.push(CM.Decoration.mark({ class: `found found-${one.severity}`, said: `${one.severity}: ${one.message}` }).range(from, to));
        if (marks.length > 2 * SAID_MAX) continue;
        const widget = new Said(one, (start, end, instead) => this.mend(text, start, end, instead));
        marks.push(CM.Decoration.widget({ widget, block: true, side: 1 }).range(this.view.state.doc.lineAt(from).to));
      }
      this.view.dispatch({ effects: setFound.of(CM.Decoration.set(marks, true)) });
    },
    mend(text, start, end, instead) {
      if (text !== this.view.state.doc.toString()) return; // it has been typed on since
      const unit = unitOf(text);
      this.view.dispatch({ changes: { from: unit(start), to: unit(end), insert: instead }, scrollIntoView: true });
      this.view.focus();
      this.tell();
    },
    reveal(line) {
      const doc = this.view.state.doc;
      const at = doc.line(Math.max(1, Math.min(line, doc.lines))).from;
      this.view.dispatch({ selection: { anchor: at }, effects: CM.EditorView.scrollIntoView(at, { y: "center" }) });
      this.view.focus();
    },
  },
};
