// A list that shows only the lines one can see, however many it has.
// - `put` shows other lines; `add` puts new ones on top, and lets the oldest go.
// - While the pointer is over it nothing moves: what came meanwhile is counted, and shown after.
// - Arrow keys, Home and End go through it; Enter opens what is marked. `mark` marks a line too.
// Everything is shown as text; nothing here reads markup.
import { when_ready } from "/console-static/ready.js";

const span = (ms) => window.nomospace.time.span(ms * 1000);

const WIDE = 500;
const SIGNS = { forwarded: "→", refused: "✕", held: "⏸", obligation: "⏳" };

export default {
  template: `
    <div class="listing" :class="{ narrow: !wide }" :data-held="held">
      <div class="listing-head" :style="tracks" aria-hidden="true">
        <span v-for="c in shown" :key="c.name" :class="'cell-' + c.kind">{{ c.label }}</span>
      </div>
      <div class="listing-body" ref="body" tabindex="0" :role="lines.length ? 'listbox' : 'group'" :aria-label="label"
           :aria-activedescendant="active === null ? null : domId(active)"
           @scroll="scrolled" @mouseenter="hold" @mouseleave="let_go" @keydown="key">
        <div class="listing-all" :style="{ height: lines.length * height + 'px' }">
          <div v-for="line in seen" :key="line.row.id" :id="domId(line.row.id)" role="option"
               class="listing-row" :class="{ active: line.row.id === active }"
               :aria-selected="line.row.id === active" :data-id="line.row.id"
               :style="[tracks, { transform: 'translateY(' + line.at * height + 'px)' }]"
               @click="pick(line.row.id)">
            <span v-for="c in shown" :key="c.name" :class="'cell-' + c.kind" :title="hint(c, line.row)">
              <template v-if="c.kind === 'verdict'">
                <span class="verdict" :class="line.row[c.name]"><span class="sign" aria-hidden="true">{{ sign(line.row[c.name]) }}</span>
                <span>{{ line.row[c.name] }}</span></span>
              </template>
              <template v-else-if="c.kind === 'when'">{{ when(line.row[c.name]) }}</template>
              <template v-else-if="c.kind === 'span'">{{ left(line.row[c.name], line.row[c.name + '_word']) }}</template>
              <template v-else>{{ line.row[c.name] }}</template>
            </span>
          </div>
        </div>
        <div v-if="!lines.length" class="listing-none">{{ none }}</div>
      </div>
      <div class="listing-foot" role="status">
        <span>{{ note }}</span><span v-if="waiting">⏸ {{ waiting }}</span>
      </div>
    </div>`,
  props: { columns: Array, rows: Array, label: String, none: String, now: Number, note0: String,
           rest: Boolean, height: { type: Number, default: 28 }, most: { type: Number, default: 500 } },
  emits: ["pick", "ready"],
  data() {
    return { shape: this.columns, lines: this.rows || [], note: this.note0 || "", top: 0, room: 400, active: null,
             held: false, later: null, offset: 0, clock: 0, wide: true, coming: this.rest, ending: false };
  },
  created() { this.set_clock(this.now); },
  mounted() {
    this.watching = new ResizeObserver(() => {
      this.room = this.$refs.body.clientHeight;
      this.wide = this.$refs.body.clientWidth >= WIDE;
    });
    this.watching.observe(this.$refs.body);
    this.ticking = setInterval(() => { this.clock = Date.now() + this.offset; }, 1000);
    when_ready(this);
  },
  beforeUnmount() { this.watching.disconnect(); clearInterval(this.ticking); },
  computed: {
    // Where there is little room, times and numbers are in the story alone, and a verdict is its sign.
    shown() {
      if (this.wide) return this.shape;
      const left = this.shape.filter((c) => !["when", "span", "num"].includes(c.kind));
      return left.map((c) => {
        if (c.kind === "verdict") return { ...c, label: "", width: "18px" };
        return { ...c, width: c.width.replace(/minmax\(\w+/, "minmax(0") };
      });
    },
    tracks() { return { gridTemplateColumns: this.shown.map((c) => c.width).join(" ") }; },
    seen() {
      const first = Math.max(0, Math.floor(this.top / this.height) - 8);
      const last = Math.min(this.lines.length, Math.ceil((this.top + this.room) / this.height) + 8);
      return this.lines.slice(first, last).map((row, i) => ({ row, at: first + i }));
    },
    waiting() {
      if (!this.held || !this.later) return "";
      const count = this.later.count;
      return count === null ? "changes wait until the pointer leaves" : `${count} new wait until the pointer leaves`;
    },
  },
  methods: {
    domId(id) { return `l${this.$.uid}-${id}`; },
    sign(word) { return SIGNS[word] || ""; },
    set_clock(now) { if (now) { this.offset = now / 1000 - Date.now(); this.clock = now / 1000; } },
    when(at) {
      if (!at) return "";
      const ms = at / 1000 - this.clock;
      return ms > 0 ? `in ${span(ms)}` : `${span(-ms)} ago`;
    },
    left(at, word) {
      if (!at) return "";
      const said = span(Math.abs(at / 1000 - this.clock));
      return word ? `${word} ${said}` : said;
    },
    hint(column, row) {
      const value = row[column.name];
      if (column.kind === "when" || column.kind === "span") return value ? window.nomospace.time.exact(value) : column.unknown || "";
      return row[column.name + "_hint"] || String(value ?? "");
    },
    scrolled() { this.top = this.$refs.body.scrollTop; },
    hold() { this.held = true; },
    let_go() {
      this.held = false;
      if (this.later) this.take(this.later);
      this.later = null;
    },
    take(news) {
      this.lines = news.lines; this.note = news.note; this.shape = news.shape || this.shape; this.coming = false;
      if (!this.ending) return;
      this.ending = false;
      this.$nextTick(() => this.lines.length && this.mark_at(this.lines.length - 1));
    },
    show(news, count) {
      if (this.held) {
        const before = this.later && this.later.count !== null ? this.later.count : 0;
        this.later = { ...news, count: count === null ? null : before + count };
      } else this.take(news);
    },
    put(rows, now, note, at_once, shape) {
      this.set_clock(now);
      const news = { lines: rows, note, shape };
      if (this.coming) { this.take(news); return; }
      if (!at_once) { this.show(news, null); return; }
      this.later = null;
      this.take(news);
      this.$refs.body.scrollTop = 0;
    },
    add(rows, now, note) {
      this.set_clock(now);
      const lines = this.later ? this.later.lines : this.lines;
      this.show({ lines: [...rows, ...lines].slice(0, this.most), note }, rows.length);
    },
    pick(id) { this.active = id; this.$emit("pick", id); },
    key(event) {
      const at = this.lines.findIndex((row) => row.id === this.active);
      const page = Math.max(1, Math.floor(this.room / this.height) - 1);
      const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page,
                   Home: 0, End: this.lines.length - 1 }[event.key];
      if (event.key === "Enter" && at >= 0) { event.preventDefault(); this.pick(this.active); return; }
      if (to === undefined || !this.lines.length) return;
      event.preventDefault();
      // A page has the lines that one sees, and is told the rest: its end is not known before.
      if (event.key === "End" && this.coming) { this.ending = true; return; }
      this.mark_at(Math.min(this.lines.length - 1, Math.max(0, to)));
    },
    mark(id) {
      const at = this.lines.findIndex((row) => row.id === id);
      if (at >= 0 && id !== this.active) this.mark_at(at);
    },
    mark_at(at) {
      this.active = this.lines[at].id;
      const body = this.$refs.body;
      if (at * this.height < body.scrollTop) body.scrollTop = at * this.height;
      else if ((at + 1) * this.height > body.scrollTop + this.room) body.scrollTop = (at + 1) * this.height - this.room;
    },
  },
};
