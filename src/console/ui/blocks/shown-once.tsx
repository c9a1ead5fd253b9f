import { CopyButton } from "../copy-button.tsx";
import { Icon } from "../icon.tsx";

type Props = { title: string; secret: string; label: string; onClose: () => void };

/** A secret that the service returns only now. Stays in the page until it is closed. */
export function ShownOnce({ title, secret, label, onClose }: Props) {
  return (
    <section className="note ok mb-4" aria-label={title}>
      <Icon name="status-ok" />
      <div className="grow grid gap-2">
        <div className="row wrap">
          <b>{title}</b>
          <span className="mid">Copy it now: it is shown once.</span>
          <button
            type="button"
            className="btn ghost icon sm push"
            aria-label="Close, I have copied it"
            onClick={onClose}
          >
            <Icon name="close" small />
          </button>
        </div>
        <div className="row wrap">
          <code className="grow break-all bg-panel border border-line rounded-md px-2 py-1">
            {secret}
          </code>
          <CopyButton text={secret} label={label} showLabel />
        </div>
      </div>
    </section>
  );
}
