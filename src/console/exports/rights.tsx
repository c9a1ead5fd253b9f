import type { DestinationProbe } from "../../exports/destination-schema.ts";
import { StatusIcon, toneOf } from "../ui/status.tsx";
import { KINDS, toRightRows, WORDS } from "./right-rows.ts";

/** Each right with its result, its purpose and its remedy. */
export function Rights({ probe: { rights, leftovers } }: { probe: DestinationProbe }) {
  return (
    <>
      <ul aria-label="Rights">
        {toRightRows(rights).map(({ right, needed_for, status, error, remedy, is_required }) => (
          <li key={right} className="right">
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
