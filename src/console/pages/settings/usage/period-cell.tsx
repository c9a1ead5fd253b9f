import type { Meter, Quota, QuotaPeriod } from "../../../../control-plane/quotas/quota-schema.ts";
import { ProgressBar } from "../../../ui/blocks/progress-bar.tsx";
import { Status } from "../../../ui/status.tsx";
import { isUsedUp, METER_TEXTS, PERIOD_TEXTS } from "../../../workspace/meters.ts";

type Props = {
  meter: Meter;
  period: QuotaPeriod;
  /** Quotas of the meter and the period: the operator and the admins may each set one. */
  quotas: Quota[];
  /** Usage of the period, which is shown without a quota. `undefined` for roles that may not read it. */
  used: number | undefined;
};

/** Share of a quota from which its bar is a warning. */
const NEARLY = 0.8;

/** Usage of a meter in a period, above a bar for each quota. */
export function PeriodCell({ meter, period, quotas, used: counted }: Props) {
  const { format } = METER_TEXTS[meter];
  const { label } = PERIOD_TEXTS[period];
  const used = quotas[0]?.used ?? counted;
  return (
    <div className="grid gap-1 md:py-2">
      <span className="row wrap">
        <span className="only-m dim">{label}</span>
        {used === undefined ? (
          <span className="dim">no quota</span>
        ) : (
          <span title={String(used)}>{format(used)}</span>
        )}
        {quotas.some(isUsedUp) && <Status kind="failed">Quota reached</Status>}
      </span>
      {quotas.map((quota) => (
        <span key={quota.set_by} className="grid gap-1">
          <ProgressBar
            fraction={fractionOf(quota)}
            tone={toneOf(quota)}
            label={`${METER_TEXTS[meter].label}, ${label.toLowerCase()}, of ${format(quota.limit)}`}
          />
          <span className="hint">
            of {format(quota.limit)}, set by{" "}
            {quota.set_by === "admin" ? "an admin" : "the operator"}
          </span>
        </span>
      ))}
    </div>
  );
}

/** Returns the used share of a quota, 1 for a quota of 0. */
function fractionOf({ used, limit }: Quota): number {
  return limit === 0 ? 1 : used / limit;
}

function toneOf(quota: Quota) {
  if (isUsedUp(quota)) return "err";
  return fractionOf(quota) >= NEARLY ? "wait" : "idle";
}
