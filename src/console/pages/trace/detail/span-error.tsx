import { CopyButton } from "../../../ui/copy-button.tsx";
import { formatCount } from "../../../ui/formats.ts";
import { JsonView } from "../../../ui/json-view/json-view.tsx";

type Props = { error: string; isCut: boolean };

const MAX_LINE_CHARS = 600;

/** Shows an error: the first line as its title, and the stack below. */
export function SpanError({ error, isCut }: Props) {
  const [first = "", ...rest] = error.trim().split("\n");
  const { name, message } = partsOf(first);
  const surplus = message.length - MAX_LINE_CHARS;
  return (
    <div className="span-error" role="note" aria-label="Error">
      <div className="row">
        <b className="err grow cut">{name}</b>
        <CopyButton text={error} label="Copy the error" />
      </div>
      <p className="mono sm break-words">{message.slice(0, MAX_LINE_CHARS)}</p>
      {(rest.length > 0 || surplus > 0) && (
        <details>
          <summary>
            {rest.length > 0 ? `Stack, ${formatCount(rest.length, "line")}` : "The whole error"}
          </summary>
          <JsonView label="Error" value={error} maxHeight={300} />
        </details>
      )}
      {isCut && <p className="dim sm">The first 500 characters; the whole error is being read.</p>}
    </div>
  );
}

const NAME = /^(\w[\w.]{0,100}(?:Error|Exception|Requests|Timeout|Interrupt)?)(?:\(|: )/;

/** Splits `TypeError: text`. An error without a name gets the name `Error`. */
function partsOf(line: string): { name: string; message: string } {
  const name = NAME.exec(line)?.[1];
  return name === undefined
    ? { name: "Error", message: line }
    : { name, message: line.slice(name.length).replace(/^: /, "") };
}
