// Steps of a run on a true axis of time: what happened together stands together. It is one slider,
// moved by arrows, a click, or whoever shows a step.
const EDGE = 14, HEIGHT = 46, LINE = 16;
const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"], [0.001, "ms"]];

export const said = (seconds) => {
  const [size, unit] = UNITS.find(([one]) => Math.abs(seconds) >= one) || [1, "s"];
  return `${Number((seconds / size).toFixed(2))} ${unit}`;
};
// Round times for so many labels between two, both ends included.
export function ticks(from, to, most) {
  const raw = (to - from) / Math.max(1, most);
  if (!(raw > 0)) return [from];
  const steps = [0.001, 0.01, 0.1, 1, 5, 10, 30, 60, 300, 600, 1800, 3600, 7200, 21600, 86400, 604800];
  const step = steps.find((one) => one >= raw) || Math.ceil(raw / 604800) * 604800;
  const found = [];
  for (let at = Math.ceil(from / step) * step; at <= to + step / 1000; at += step) found.push(at);
  return found;
}

export default {
  template: `
    <div class="axis" ref="ground" role="slider" tabindex="0" aria-label="Step" aria-valuemin="1" :aria-valuemax="steps.length"
      :aria-valuenow="at + 1" :aria-valuetext="'step ' + (at + 1) + ' of ' + steps.length + ', at ' + said(steps[at][0])"
      :data-steps="steps.length" @click="click" @keydown="key">
      <svg :width="width" height="${HEIGHT}" aria-hidden="true">
        <line class="axis-line" x1="${EDGE}" :x2="width - ${EDGE}" y1="${LINE}" y2="${LINE}"></line>
        <g v-for="one in labels" :key="one"><line class="axis-line" :x1="x(one)" :x2="x(one)" y1="${LINE}" y2="26"></line>
          <text class="axis-label" :x="x(one)" y="40" text-anchor="middle">{{ said(one) }}</text></g>
        <g v-for="mark in marks" :key="mark.x"><circle class="axis-mark" :class="mark.kind" :cx="mark.x" cy="${LINE}" :r="mark.count > 1 ? 6.5 : 4.5"></circle>
          <title>{{ mark.count }} at {{ said(mark.at) }}</title></g>
        <circle class="axis-here" :cx="x(steps[at][0])" cy="${LINE}" r="10"></circle>
      </svg>
    </div>`,
  props: { steps: Array, first: Number },
  emits: ["step"],
  data() { return { width: 600, at: this.first || 0 }; },
  computed: {
    from() { return this.steps[0][0]; },
    to() { return Math.max(this.from, this.steps[this.steps.length - 1][0]); },
    labels() { return ticks(this.from, this.to, Math.floor(this.width / 110)); },
    marks() {
      const found = new Map();
      for (const [at, kind] of this.steps) {
        const x = Math.round(this.x(at) / 4) * 4;
        const mark = found.get(x);
        if (mark) { mark.count += 1; if (kind === "refused" || !mark.kind) mark.kind = kind; }
        else found.set(x, { x, at, kind, count: 1 });
      }
      return [...found.values()];
    },
  },
  mounted() {
    this.sizes = new ResizeObserver(() => (this.width = this.$refs.ground?.clientWidth || 600));
    this.sizes.observe(this.$refs.ground);
  },
  unmounted() { this.sizes.disconnect(); },
  methods: {
    said,
    x(at) {
      const long = this.to - this.from;
      return EDGE + (long ? (at - this.from) / long : 0.5) * (this.width - 2 * EDGE);
    },
    go(at) { this.at = Math.max(0, Math.min(at, this.steps.length - 1)); },
    tell(at) { this.go(at); this.$emit("step", this.at); },
    click(event) {
      const x = event.clientX - this.$refs.ground.getBoundingClientRect().left;
      let best = 0;
      this.steps.forEach(([at], index) => { if (Math.abs(this.x(at) - x) < Math.abs(this.x(this.steps[best][0]) - x)) best = index; });
      this.tell(best);
    },
    key(event) {
      const to = { ArrowRight: this.at + 1, ArrowUp: this.at + 1, ArrowLeft: this.at - 1, ArrowDown: this.at - 1, Home: 0, End: this.steps.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      this.tell(to);
    },
  },
};
