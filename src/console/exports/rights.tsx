import type { DestinationProbe } from "../../exports/destination-schema.ts";
import type { StatusKind } from "../ui/icons/status-kind.ts";
import { StatusIcon, toneOf } from "../ui/status.tsx";

type RightOfProbe = DestinationProbe["rights"][number];

const KINDS: Record<RightOfProbe["status"], StatusKind> = {
  granted: "ok",
  refused: "failed",
  not_checked: "skipped",
};
const WORDS: Record<RightOfProbe["status"], string> = {
  granted: "granted",
  refused: "refused",
  not_checked: "not checked",
};

export function showProbe({ is_usable, rights }: DestinationProbe): {
  kind: StatusKind;
  word: string;
} {
  if (!is_usable) return { kind: "failed", word: "May not write" };
  if (rights.some(({ status }) => status === "refused")) {
    return { kind: "partial", word: "May write, not clean up" };
  }
  return { kind: "ok", word: "May write" };
}

/** Each right with its result, its purpose and its remedy. */
export function Rights({ probe: { rights, leftovers } }: { probe: DestinationProbe }) {
  return (
    <>
      <ul aria-label="Rights">
        {rights.map(({ right, needed_for, status, error, remedy, is_required }) => (
          <li key={needed_for} className="right">
            <span className={toneOf(KINDS[status])}>
              <StatusIcon kind={KINDS[status]} />
            </span>
            <div className="grow">
              <code>{right}</code>
              <div className="sm dim">
                {needed_for}
                {is_required && ", required"}
              </div>
              {error !== null && <div className="sm mono err break-words">{error}</div>}
              {remedy !== null && <div className="sm break-words">{remedy}</div>}
            </div>
            <span className={`sm nw ${status === "refused" ? "err" : "dim"}`}>{WORDS[status]}</span>
          </li>
        ))}
      </ul>
      {leftovers.length > 0 && (
        <p className="sm mid">
          Not deleted: <code className="break-all">{leftovers.join(", ")}</code>
        </p>
      )}
    </>
  );
}
