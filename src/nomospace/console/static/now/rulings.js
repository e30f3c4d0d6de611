// The live list of rulings, the newest first. Only the lines in sight are elements. While the
// pointer or the keyboard is in it, or it is scrolled, or paused, it holds still and counts what is
// new. A ruling is a list: host, record, at, home, kind, verdict, gist, rule, to, event. Equal ones
// in a row are one line with their count (`folding.js`).
import { counted, folded } from "/console-static/now/folding.js";

const KEPT = 400;
const HELD_MAX = 400;
const LINE = 27;
const SIGNS = { forwarded: "→", refused: "✕", held: "⏸", obligation: "⏳", noted: "·" };

// What is frozen is not watched line by line: the list changes as a whole.
const kept = (lines) => Object.freeze(lines.slice(0, KEPT));

export default {
  template: `
    <section class="rulings card" aria-label="Rulings">
      <div class="rulings-head">
        <input class="field mono rulings-filter" v-model="filter" type="search" placeholder="filter"
          aria-label="Show only rulings with this text" spellcheck="false">
        <button type="button" class="quiet-button rulings-pause" :aria-pressed="paused" @click="paused = !paused">
          {{ paused ? "Go on" : "Pause" }}</button>
      </div>
      <div class="rulings-kinds" role="group" aria-label="Show only">
        <button v-for="kind in kinds" :key="kind" type="button" class="kind" :class="[kind, { off: off[kind] }]"
          :aria-pressed="!off[kind]" :data-kind="kind" @click="off[kind] = !off[kind]">
          <span aria-hidden="true">{{ signs[kind] }}</span> {{ kind }}</button>
      </div>
      <div class="rulings-list" ref="list" @scroll="scrolled" @pointerenter="over = true" @pointerleave="leave"
        @focusin="within = true" @focusout="within = false; release()" @keydown="key">
        <div class="rulings-all" :style="{ height: rows.length * line + 'px' }">
          <button v-for="row in sight" :key="row.first" type="button" class="ruling"
            :class="row.one[5]" :style="{ top: row.at * line + 'px' }" :data-row="row.at"
            :data-record="row.one[1]" :data-host="row.one[0]" :data-count="row.count" :data-verdict="row.one[5]"
            :title="row.one[9]" @click="$emit('pick', 'ruling', row.one[0], row.one[1])">
            <span class="ruling-at num">{{ clock(row.one[2]) }}</span>
            <span class="ruling-sign" role="img" :aria-label="row.one[5]">{{ signs[row.one[5]] }}</span>
            <span class="ruling-home" :class="{ many: row.count > 1 }"><bdi>{{ short(row.one[3]) }}</bdi></span>
            <span v-if="row.count > 1" class="ruling-count num">× {{ grouped(row.count) }}</span>
            <span class="ruling-gist mono"><span class="quiet">{{ row.one[4] }}</span> {{ row.one[6] }}</span>
            <span class="ruling-rule quiet">{{ row.one[7] || "–" }}</span>
          </button>
        </div>
        <p v-if="!rows.length" class="rulings-none quiet">{{ none }}</p>
      </div>
      <p class="rulings-foot quiet num" role="status">
        <button v-if="waiting.length" type="button" class="doorway" @click="now">{{ waiting.length }} new, held while you look</button>
        <span v-else-if="paused">Paused.</span>
        <span v-else>Live.</span>
        <span v-if="folded" data-folded> {{ grouped(folded) }} folded: counted, and in the journal.</span>
      </p>
    </section>`,
  data() {
    return {
      all: [],
      waiting: [],
      folded: 0,
      filter: "",
      off: { forwarded: false, refused: false, held: false, obligation: false },
      paused: false,
      over: false,
      within: false,
      top: 0,
      height: 400,
      line: LINE,
      tick: 0,
      signs: SIGNS,
      kinds: ["forwarded", "refused", "held", "obligation"],
    };
  },
  computed: {
    rows() {
      const wanted = this.filter.trim().toLowerCase();
      return this.all.filter(
        ({ one }) =>
          !this.off[one[5]] &&
          (!wanted || `${one[0]} ${one[3]} ${one[9]} ${one[7] || ""} ${one[5]}`.toLowerCase().includes(wanted)),
      );
    },
    sight() {
      const first = Math.max(0, Math.floor(this.top / LINE) - 4);
      const last = Math.min(this.rows.length, Math.ceil((this.top + this.height) / LINE) + 4);
      return this.rows.slice(first, last).map((line, index) => ({ ...line, at: first + index }));
    },
    none() {
      return this.all.length
        ? "No ruling here matches the filter."
        : "Rulings come here as agents send messages under a law: nomospace up starts a hospital of them.";
    },
  },
  created() {
    this.runs = [];
  },
  mounted() {
    this.sizes = new ResizeObserver(() => (this.height = this.$refs.list?.clientHeight || 400));
    this.sizes.observe(this.$refs.list);
    this.clocks = () => (this.tick += 1);
    window.addEventListener("nomospace-clock", this.clocks);
  },
  unmounted() {
    this.sizes.disconnect();
    window.removeEventListener("nomospace-clock", this.clocks);
  },
  watch: {
    paused() {
      this.release();
    },
    filter() {
      this.$refs.list.scrollTop = 0;
    },
  },
  methods: {
    grouped: window.nomospace.grouped,
    begin(rulings) {
      this.all = kept(folded([], rulings));
    },
    // `runs` are counts of rulings that were passed over: those of a line in sight are its own.
    beat(rulings, passed, runs) {
      this.folded += passed;
      this.runs.push(...runs);
      if (!rulings.length && !runs.length) return;
      if (this.still()) {
        const more = this.waiting.length + rulings.length - HELD_MAX;
        if (more > 0) this.folded += more;
        this.waiting = Object.freeze([...this.waiting, ...rulings].slice(-HELD_MAX));
      } else {
        this.put(rulings);
      }
    },
    put(rulings) {
      const { lines, left } = counted(folded(this.all, rulings), this.runs);
      this.all = kept(lines);
      this.folded += left;
      this.runs = [];
    },
    still() {
      return this.paused || this.over || this.within || this.top > LINE;
    },
    leave() {
      this.over = false;
      this.release();
    },
    release() {
      if (this.still() || !this.waiting.length) return;
      const rulings = this.waiting;
      this.waiting = [];
      this.put(rulings);
    },
    now() {
      const rulings = this.waiting;
      this.waiting = [];
      this.put(rulings);
      this.$refs.list.scrollTop = 0;
    },
    scrolled() {
      this.top = this.$refs.list.scrollTop;
      this.release();
    },
    key(event) {
      const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      const row = document.activeElement?.dataset?.row;
      if (!by || row === undefined) return;
      event.preventDefault();
      const next = Math.max(0, Math.min(this.rows.length - 1, Number(row) + by));
      const list = this.$refs.list;
      if (next * LINE < list.scrollTop) list.scrollTop = next * LINE;
      else if ((next + 1) * LINE > list.scrollTop + this.height) list.scrollTop = (next + 1) * LINE - this.height;
      this.$nextTick(() => list.querySelector(`[data-row="${next}"]`)?.focus({ preventScroll: true }));
    },
    clock(at) {
      void this.tick; // another clock is asked for
      return window.nomospace.time.clock(at);
    },
    short(id) {
      return id.split("@")[0];
    },
  },
};
