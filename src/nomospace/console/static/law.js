// A law with its margin: line numbers, how often each rule has ruled, and a small line of the last
// minute. Rules that never ruled are quiet. The words have the colours of what they do: what sends
// is green, what ends or denies is red, what changes the state is amber, what obliges is violet.
// Everything is shown as text; nothing here reads markup.
import { when_ready } from "/console-static/ready.js";

const LINES_MAX = 3000;
const WORDS = {
  forwarded: "forward deliver multicast release",
  refused: "fail not quit exception revoked signal",
  held: "incr dcr add remove replace CS cs",
  obligation: "imposeObligation repealObligation obligationDue obligation impose repeal",
  event: "sent arrived adopted certified submitted disconnected reconnected moved",
  key: "law initialCS authority cAuthority disclose do portal def if else elif and or return",
};
const KIND = {};
for (const [kind, words] of Object.entries(WORDS)) for (const word of words.split(" ")) KIND[word] = kind;
const PIECE = /(%.*|#.*)|('(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")|([A-Z_][A-Za-z0-9_]*'*)|([a-z][A-Za-z0-9_]*)|([0-9]+(?:\.[0-9]+)?)|(:-|<-|->|\\\+|[^A-Za-z0-9_'"%#]+)/g;

function pieces(line) {
  const found = [];
  const label = /^\s*([A-Z][A-Za-z0-9_]*)\.(?=\s|$)/.exec(line);
  let at = 0;
  if (label) { found.push({ text: label[0], kind: "label" }); at = label[0].length; }
  PIECE.lastIndex = at;
  let match;
  while ((match = PIECE.exec(line)) !== null) {
    if (match.index > at) found.push({ text: line.slice(at, match.index), kind: "" });
    const kind = match[1] ? "comment" : match[2] ? "text" : match[3] ? KIND[match[3]] || "variable"
      : match[4] ? KIND[match[4]] || "" : match[5] ? "number" : match[6].trim() === "\\+" ? "refused" : "";
    found.push({ text: match[0], kind });
    at = match.index + match[0].length;
    if (!match[0]) break;
  }
  if (at < line.length) found.push({ text: line.slice(at), kind: "" });
  return found;
}

export default {
  template: `
    <div class="lawtext mono" tabindex="0" role="region" aria-label="Text of the law">
      <div v-for="line in lines" :key="line.number" class="lawline" :data-line="line.number"
           :class="{ never: line.rule && !hits[line.rule], marked: line.rule && line.rule === marked }">
        <span class="lawmargin">
          <button v-if="line.first" type="button" class="lawhits" :data-rule="line.rule" :title="told(line.rule)"
                  :aria-label="told(line.rule)" @click="$emit('rule', line.rule)">
            <svg viewBox="0 0 60 14" width="60" height="14" aria-hidden="true"><polyline :points="points(line.rule)" /></svg>
            <span class="num">{{ count(line.rule) }}</span>
          </button>
        </span>
        <span class="lawnumber" aria-hidden="true">{{ line.number }}</span>
        <span class="lawcode" v-memo="[line]"><span v-for="(piece, i) in line.pieces" :key="i" :class="'t-' + piece.kind">{{ piece.text }}</span></span>
      </div>
      <div v-if="more" class="quiet">{{ more }} more lines are not shown</div>
    </div>`,
  props: { text: String, rules: Array, hits0: Object, lines0: Object },
  emits: ["rule", "ready"],
  data() { return { hits: this.hits0 || {}, sparks: this.lines0 || {}, marked: "" }; },
  computed: {
    all() { return this.text.split("\n"); },
    more() { return Math.max(0, this.all.length - LINES_MAX); },
    lines() {
      const owner = {}, first = {};
      for (const rule of this.rules) {
        first[rule.line] = rule.name;
        for (let n = rule.line; n <= rule.last_line; n++) owner[n] = rule.name;
      }
      return this.all.slice(0, LINES_MAX).map((line, i) => ({
        number: i + 1, pieces: pieces(line), rule: owner[i + 1] || "", first: first[i + 1] || "" }));
    },
  },
  mounted() {
    // What a law begins with is mostly a long comment; its rules are what one came for.
    const first = this.rules.length ? this.rules[0].line - 4 : 0;
    when_ready(this);
    if (first > 12) this.$el.scrollTop = first * this.$el.querySelector(".lawline").offsetHeight;
  },
  methods: {
    count(rule) { const n = this.hits[rule] || 0; return n ? n.toLocaleString("en") : "never"; },
    told(rule) { const n = this.hits[rule] || 0; return n ? `${rule} has ruled ${n.toLocaleString("en")} times` : `${rule} has never ruled`; },
    points(rule) {
      const line = this.sparks[rule] || [];
      const top = Math.max(1, ...line);
      return line.map((n, i) => `${(i * 60) / Math.max(1, line.length - 1)},${(13 - (12 * n) / top).toFixed(1)}`).join(" ");
    },
    tell(hits, sparks) { this.hits = hits; this.sparks = sparks; },
    mark(rule) {
      this.marked = rule;
      const found = [...this.$el.querySelectorAll("[data-rule]")].find((one) => one.dataset.rule === rule);
      if (found) found.scrollIntoView({ block: "center" });
    },
  },
};
