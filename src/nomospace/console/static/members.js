// The members of a community with their control states as chips. What changes is told member by
// member, and a chip that is new is lit for a moment. Everything is shown as text.
import { when_ready } from "/console-static/ready.js";

const SHOWN_MAX = 300;

export default {
  template: `
    <div class="members">
      <label class="find"><span class="quiet">Find</span>
        <input v-model="wanted" type="search" class="mono" placeholder="member or term" aria-label="Find members" /></label>
      <ul class="members-all" :aria-label="label" tabindex="0">
        <li v-for="one in shown" :key="one.id" v-memo="[one]" class="member" :data-member="one.home">
          <button type="button" class="member-name mono" @click="$emit('pick', one.id)" :title="one.home + ' at ' + one.host">{{ one.home }}</button>
          <span class="quiet num" :title="one.rulings + ' rulings'">{{ one.rulings.toLocaleString("en") }}</span>
          <span class="chips">
            <span v-for="(term, i) in one.state" :key="term + '#' + i" class="chip mono" :class="{ fresh: one.fresh.includes(term) }" :title="term">{{ term }}</span>
            <span v-if="one.count > one.state.length" class="chip quiet">+{{ one.count - one.state.length }}</span>
            <span v-if="one.owes" class="chip obligation" :title="one.owes + ' pending obligations'">⏳ {{ one.owes }}</span>
            <span v-if="!one.count && !one.owes" class="quiet">nothing in its control state</span>
          </span>
        </li>
      </ul>
      <div class="quiet listing-foot" role="status">{{ foot }}</div>
    </div>`,
  props: { members: Array, label: String },
  emits: ["pick", "ready"],
  data() {
    const all = {};
    for (const one of this.members || []) all[one.id] = { ...one, fresh: [] };
    return { all, wanted: "" };
  },
  mounted() { when_ready(this); },
  computed: {
    found() {
      const text = this.wanted.trim().toLowerCase();
      const all = Object.values(this.all).sort((a, b) => (a.id < b.id ? -1 : 1));
      return text ? all.filter((one) => one.home.toLowerCase().includes(text) || one.state.some((term) => term.toLowerCase().includes(text))) : all;
    },
    shown() { return this.found.slice(0, SHOWN_MAX); },
    foot() {
      const all = Object.keys(this.all).length;
      const which = this.found.length < all ? `${this.found.length} of ${all} members` : `${all} member${all === 1 ? "" : "s"}`;
      return this.found.length > SHOWN_MAX ? `${which}, the first ${SHOWN_MAX} shown; find the others` : which;
    },
  },
  methods: {
    tell(changed, gone) {
      for (const id of gone) delete this.all[id];
      for (const one of changed) {
        const before = this.all[one.id];
        const had = before ? before.state : [];
        this.all[one.id] = { ...one, fresh: one.state.filter((term) => !had.includes(term)) };
      }
    },
  },
};
