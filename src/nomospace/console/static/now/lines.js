// Four small lines: what happens in a second, over the last two minutes. A moment is a list:
// the time, messages, refusals, hops, pending obligations (null where nobody has looked).
const KEPT = 120;
const WIDTH = 120;
const HEIGHT = 26;
const LINES = [
  { title: "messages", unit: "/s", look: "law" },
  { title: "refused", unit: "/s", look: "refused", sign: "✕" },
  { title: "hops", unit: "/s", look: "law" },
  { title: "obligations", unit: "", look: "obligation", sign: "⏳" },
];

const shown = (value) =>
  value >= 100 || Number.isInteger(value) ? window.nomospace.grouped(Math.round(value)) : value.toFixed(1);

export default {
  template: `
    <ul class="lines" aria-label="The last two minutes">
      <li v-for="(line, index) in lines" :key="line.title" class="spark" :data-line="line.title"
        :title="line.title + ': at most ' + most(index) + line.unit + ' in the last two minutes'">
        <span class="spark-title"><span v-if="line.sign" :class="line.look" aria-hidden="true">{{ line.sign }}&nbsp;</span>{{ line.title }}</span>
        <span class="spark-value num">{{ last(index) }}<small>{{ line.unit }}</small></span>
        <svg :viewBox="'0 0 ${WIDTH} ${HEIGHT}'" preserveAspectRatio="none" aria-hidden="true" :class="line.look">
          <polyline :points="points(index)" fill="none" stroke="currentColor" stroke-width="1.5"
            vector-effect="non-scaling-stroke"></polyline>
        </svg>
      </li>
    </ul>`,
  data() {
    return { moments: [], lines: LINES };
  },
  methods: {
    begin(moments) {
      this.moments = Object.freeze(moments.slice(-KEPT));
    },
    add(moment) {
      if (moment[0] <= (this.moments[this.moments.length - 1]?.[0] ?? 0)) return; // it was told already
      this.moments = Object.freeze([...this.moments, moment].slice(-KEPT));
    },
    last(index) {
      const value = this.moments[this.moments.length - 1]?.[index + 1] ?? null;
      return value === null ? "–" : shown(value);
    },
    most(index) {
      return shown(Math.max(0, ...this.moments.map((one) => one[index + 1])));
    },
    points(index) {
      const values = this.moments.map((one) => one[index + 1]);
      const most = Math.max(1, ...values);
      const from = KEPT - values.length;
      return values
        .map((value, at) => [value, at])
        .filter(([value]) => value !== null)
        .map(([value, at]) => `${(from + at + 1).toFixed(0)},${(HEIGHT - 2 - (value / most) * (HEIGHT - 4)).toFixed(1)}`)
        .join(" ");
    },
  },
};
