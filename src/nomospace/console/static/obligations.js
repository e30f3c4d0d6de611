// What members owe, on a line from now to the last of them, and as a list, the soonest first.
// The line is not even: the next minute has as much room as the next day. It counts down by itself.
import { when_ready } from "/console-static/ready.js";

const span = (ms) => window.nomospace.time.span(ms * 1000);

const STOPS = [0, 10e3, 60e3, 600e3, 3600e3, 86400e3, 864000e3];
const NAMES = ["now", "10 s", "1 min", "10 min", "1 h", "1 day", "10 days"];

export default {
  template: `
    <div class="owed">
      <div class="owed-line" role="img" :aria-label="summary">
        <span class="owed-axis"></span>
        <span v-for="stop in stops" :key="stop.name" class="owed-stop" :class="stop.end" :style="{ left: stop.at + '%' }">{{ stop.name }}</span>
        <span v-for="(one, i) in owed" :key="i" class="owed-dot" :style="{ left: place(one.due) + '%' }" :title="one.home + ': ' + one.term + ', in ' + left(one)"></span>
      </div>
      <ol class="owed-all" aria-label="Obligations, the soonest due first" tabindex="0">
        <li v-for="(one, i) in owed" :key="i" class="owed-one" :data-owed="one.home">
          <span class="obligation when num" :title="exact(one)">⏳ {{ due(one) }}</span>
          <button type="button" class="member-name mono" @click="$emit('pick', one.id)">{{ one.home }}</button>
          <span class="mono owed-term" :title="one.term">{{ one.term }}</span>
        </li>
      </ol>
      <div v-if="!owed.length" class="quiet">Nobody owes anything. A rule that says imposeObligation lays a duty on its member.</div>
      <div v-else class="quiet listing-foot" role="status">{{ total > owed.length ? "the soonest " + owed.length + " of " + total : total + (total === 1 ? " obligation is" : " obligations are") + " pending" }}</div>
    </div>`,
  props: { first: Array, count: Number, now: Number },
  emits: ["pick", "ready"],
  data() { return { owed: this.first || [], total: this.count || 0, offset: 0, clock: 0 }; },
  created() { this.set_clock(this.now); },
  mounted() {
    this.ticking = setInterval(() => { this.clock = Date.now() + this.offset; }, 1000);
    when_ready(this);
  },
  beforeUnmount() { clearInterval(this.ticking); },
  computed: {
    far() { return Math.max(60e3, ...this.owed.map((one) => one.due / 1000 - this.clock)); },
    upto() { const found = STOPS.findIndex((stop) => stop >= this.far); return found < 0 ? STOPS.length - 1 : found; },
    stops() { return NAMES.slice(0, this.upto + 1).map((name, i) => ({ name, at: this.at(i), end: i === 0 ? "at-begin" : i === this.upto ? "at-end" : "" })); },
    summary() { return this.owed.length ? `${this.total} obligations, the next in ${this.left(this.owed[0])}` : "no obligations"; },
  },
  methods: {
    set_clock(now) { if (now) { this.offset = now / 1000 - Date.now(); this.clock = now / 1000; } },
    at(i) { return 1 + (98 * i) / this.upto; },
    place(due) {
      const ms = Math.max(0, due / 1000 - this.clock);
      let i = 0;
      while (i < this.upto - 1 && STOPS[i + 1] < ms) i++;
      return this.at(i + Math.min(1, (ms - STOPS[i]) / (STOPS[i + 1] - STOPS[i])));
    },
    left(one) { return span(one.due / 1000 - this.clock); },
    due(one) { return one.due / 1000 <= this.clock ? "now" : `in ${this.left(one)}`; },
    exact(one) { return window.nomospace.time.exact(one.due); },
    tell(owed, total, now) { this.owed = owed; this.total = total; this.set_clock(now); },
  },
};
