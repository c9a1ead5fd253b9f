import { type FormEvent, useState } from "react";
import type {
  Meter,
  Quota,
  QuotaList,
  QuotaPeriod,
} from "../../../../control-plane/quotas/quota-schema.ts";
import { problemsOf } from "../../../api/errors.ts";
import { useApiChange, useApiQuery } from "../../../api/hooks.ts";
import { Dialog } from "../../../ui/dialog.tsx";
import { Field, Optional } from "../../../ui/form/field.tsx";
import { FormError } from "../../../ui/form/form-error.tsx";
import { FormFooter } from "../../../ui/form/form-footer.tsx";
import { useToast } from "../../../ui/toasts.tsx";
import { METER_TEXTS, PERIOD_TEXTS, periodsOf, QUOTAS } from "../../../workspace/meters.ts";

type Setting = Pick<Quota, "meter" | "period" | "limit">;
type Limits = Record<QuotaPeriod, string>;
type Props = { meter: Meter; quotas: Quota[]; onClose: () => void };

/** Sets or removes the admins' quotas of a meter. */
export function QuotaForm({ meter, quotas, onClose }: Props) {
  const toast = useToast();
  const [limits, setLimits] = useState<Limits>(() => limitsOf(quotas, meter));
  const { refetch } = useApiQuery<QuotaList>(QUOTAS);
  const save = useApiChange<Setting[], QuotaList>({
    method: "PUT",
    path: QUOTAS,
    body: (settings) => ({ quotas: settings }),
    invalidates: [QUOTAS],
  });
  const { label } = METER_TEXTS[meter];
  const periods = periodsOf(meter);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    // The request replaces the quotas of all meters: reads those that another admin may have changed.
    const { data } = await refetch();
    save.mutate([...settingsOf(meter, limits), ...othersOf(data?.quotas ?? quotas, meter)], {
      onSuccess: () => {
        toast(`Saved the quota: ${label}`);
        onClose();
      },
    });
  };
  const problems = problemsOf(save.error);
  // Problems are at indexes of the sent list. The quotas of this meter are first in it.
  const errorPathOf = (period: QuotaPeriod) =>
    `quotas.${settingsOf(meter, limits).findIndex((each) => each.period === period)}.limit`;
  return (
    <Dialog title={`Quota: ${label}`} onClose={onClose}>
      <form onSubmit={(event) => void submit(event)}>
        <div className="bd grid gap-3">
          {periods.map((period) => (
            <LimitField
              key={period}
              meter={meter}
              period={period}
              text={limits[period]}
              problem={problems[errorPathOf(period)]}
              onChange={(text) => {
                save.reset();
                setLimits({ ...limits, [period]: text });
              }}
            />
          ))}
          <p className="hint">{METER_TEXTS[meter].refused}</p>
          <OperatorQuotas meter={meter} quotas={quotas} />
          <FormError
            what="The quota was not saved"
            error={save.error}
            fields={periods.map(errorPathOf)}
          />
        </div>
        <FormFooter act="Save quota" busy="Saving" isBusy={save.isPending} onClose={onClose} />
      </form>
    </Dialog>
  );
}

type LimitProps = {
  meter: Meter;
  period: QuotaPeriod;
  text: string;
  problem: string | undefined;
  onChange: (text: string) => void;
};

function LimitField({ meter, period, text, problem, onChange }: LimitProps) {
  const { unit, format } = METER_TEXTS[meter];
  const limit = Number(text);
  return (
    <Field
      label={
        <Optional>
          Limit in {unit} {PERIOD_TEXTS[period].per}
        </Optional>
      }
      type="number"
      step="any"
      autoFocus={period === periodsOf(meter)[0]}
      value={text}
      problem={problem}
      onChange={(event) => onChange(event.target.value)}
    >
      {text === "" && "Empty for no quota."}
      {text !== "" && limit === 0 && "Refuses all new work."}
      {limit > 0 && `New work is refused from ${format(limit)}.`}
    </Field>
  );
}

function OperatorQuotas({ meter, quotas }: Omit<Props, "onClose">) {
  const found = quotas.filter((each) => each.meter === meter && each.set_by === "operator");
  if (found.length === 0) return null;
  const texts = found.map(
    ({ limit, period }) => `${METER_TEXTS[meter].format(limit)} ${PERIOD_TEXTS[period].per}`,
  );
  return (
    <p className="hint">
      The quota of the operator applies too, and only the operator changes it: {texts.join(", ")}.
    </p>
  );
}

function limitsOf(quotas: Quota[], meter: Meter): Limits {
  return {
    day: limitOf(quotas, meter, "day"),
    month: limitOf(quotas, meter, "month"),
    total: limitOf(quotas, meter, "total"),
  };
}

function limitOf(quotas: Quota[], meter: Meter, period: QuotaPeriod): string {
  const found = quotas.find(
    (each) => each.meter === meter && each.period === period && each.set_by === "admin",
  );
  return found === undefined ? "" : String(found.limit);
}

function settingsOf(meter: Meter, limits: Limits): Setting[] {
  return periodsOf(meter)
    .filter((period) => limits[period] !== "")
    .map((period) => ({
      meter,
      period,
      limit: Number(limits[period]),
    }));
}

function othersOf(quotas: Quota[], changed: Meter): Setting[] {
  return quotas
    .filter(({ meter, set_by }) => meter !== changed && set_by === "admin")
    .map(({ meter, period, limit }) => ({ meter, period, limit }));
}
