// A file of this computer, read in the browser and told as it is: its name, its size and, if it is
// not too large, its bytes.
export default {
  template: `
    <div class="filebox">
      <label class="typed-label" :for="dom">{{ label }}</label>
      <input :id="dom" type="file" :accept="accept" class="filebox-input" @change="chosen" />
    </div>`,
  props: { label: String, accept: String, most: Number },
  emits: ["file"],
  computed: { dom() { return `file-${this.$.uid}`; } },
  methods: {
    async chosen(event) {
      const file = event.target.files[0];
      if (!file) return;
      let data = "";
      if (file.size <= this.most) {
        for (const byte of new Uint8Array(await file.arrayBuffer())) data += String.fromCharCode(byte);
        data = btoa(data);
      }
      this.$emit("file", { name: file.name, size: file.size, data });
      event.target.value = ""; // the same file may be chosen again
    },
  },
};
