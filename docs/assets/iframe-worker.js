/* Search in a folder: a browser starts no worker of a file, so its script runs in a hidden frame.
   The plug-in `offline` would fetch a file of this name. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.started = new Promise((resolve, reject) => {
        this.frame.onload = () => {
          const inner = this.frame.contentWindow;
          inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
          const script = inner.document.createElement("script");
          script.src = url;
          script.onload = () => resolve(inner);
          script.onerror = reject;
          inner.document.head.append(script);
        };
      });
      this.frame.srcdoc = "<!doctype html><title>search</title>";
      const add = () => document.body.append(this.frame);
      document.body ? add() : document.addEventListener("DOMContentLoaded", add);
    }

    postMessage(data) {
      this.started.then((inner) => inner.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
