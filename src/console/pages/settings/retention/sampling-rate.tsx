import type { Project } from "../../../../traces/projects/schema.ts";
import { useApiChange } from "../../../api/hooks.ts";
import { apiPath } from "../../../api/path.ts";
import { useMay } from "../../../api/session.ts";
import { InlineError } from "../../../ui/blocks/inline-error.tsx";
import { AppliedSelect } from "../../../ui/form/applied-select.tsx";
import { cutText, formatPercent } from "../../../ui/formats.ts";
import { useToast } from "../../../ui/toasts.tsx";

const RATES = [1, 0.5, 0.25, 0.1, 0.05, 0.01, 0];

/** Edits the part of the new traces of a project that is stored. */
export function SamplingRate({ project: { id, name, sampling_rate } }: { project: Project }) {
  const mayWrite = useMay("write");
  const toast = useToast();
  const change = useApiChange<number, Project>({
    method: "PATCH",
    path: apiPath`/api/v1/sessions/${id}`,
    body: (rate) => ({ sampling_rate: rate === 1 ? null : rate }),
    invalidates: [apiPath`/api/v1/sessions`],
  });
  const now = sampling_rate ?? 1;
  if (!mayWrite) return textOf(now);
  const set = (rate: number) =>
    change.mutate(rate, { onSuccess: () => toast(`New traces: ${textOf(rate)}`) });
  return (
    <span className="row wrap">
      <AppliedSelect
        label={`Stored traces of ${cutText(name, 100)}`}
        value={String(now)}
        isPending={change.isPending}
        onApply={(rate) => set(Number(rate))}
      >
        {[...new Set([now, ...RATES])]
          .sort((a, b) => b - a)
          .map((rate) => (
            <option key={rate} value={rate}>
              {textOf(rate)}
            </option>
          ))}
      </AppliedSelect>
      <InlineError error={change.error} />
    </span>
  );
}

function textOf(rate: number): string {
  if (rate === 1) return "all";
  return rate === 0 ? "none" : `${formatPercent(rate)} stored`;
}
