import { Dialog } from "../ui/dialog.tsx";
import { PLACES } from "./places.ts";

const KEYS: [string, string][] = [
  ["Ctrl K", "Search or jump to"],
  ["/", "Search on this page"],
  ["j, k", "Next and previous row"],
  ["Enter", "Open"],
  ["Esc", "Close"],
  ["f", "Follow or pause the updates of the page"],
  ["[", "Narrow or widen the rail"],
  ["?", "These keys"],
];

export function KeyHelp({ onClose }: { onClose: () => void }) {
  const places = PLACES.flatMap(({ key, label }): [string, string][] =>
    key ? [[`g ${key}`, label]] : [],
  );
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl className="kv bd">
        {[...KEYS, ...places].map(([keys, what]) => (
          <div key={keys} className="contents">
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <footer>
        <button type="button" className="btn" onClick={onClose}>
          Close
        </button>
      </footer>
    </Dialog>
  );
}
