import { type FormEvent, useState } from "react";
import { ZONE } from "../../state/time-zone.ts";
import { choiceText, type RangeProblems, readRange, toField } from "../../traces/custom-range.ts";
import { RANGE_NAMES, type RangeName, rangeLength } from "../../traces/range-names.ts";
import type { TracesSearch } from "../../traces/search.ts";
import type { TimeWindow } from "../../traces/time-range.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { Field } from "../../ui/form/field.tsx";
import { FormFooter } from "../../ui/form/form-footer.tsx";
import { Icon } from "../../ui/icon.tsx";

type Props = {
  range: RangeName;
  search: TracesSearch;
  window: TimeWindow;
  change: (search: TracesSearch) => void;
};

/** Chooses a range that ends now, or a start and an end. A drag in the histogram chooses these too. */
export function TimeChoice({ range, search: { from, to }, window, change }: Props) {
  const [isOpen, setOpen] = useState(false);
  const isChosen = from !== undefined || to !== undefined;
  return (
    <>
      <select
        className="in auto"
        aria-label="Time range"
        value={isChosen ? "" : range}
        onChange={(event) =>
          change({ range: event.target.value as RangeName, from: undefined, to: undefined })
        }
      >
        {isChosen && <option value="">Custom range</option>}
        {RANGE_NAMES.map((name) => (
          <option key={name} value={name}>
            Last {rangeLength(name)}
          </option>
        ))}
      </select>
      <button
        type="button"
        className="btn"
        title="Choose the start and the end"
        onClick={() => setOpen(true)}
      >
        <Icon name="clock" /> {isChosen ? choiceText({ from, to }) : "Custom"}
      </button>
      {isOpen && (
        <RangeDialog
          from={from ?? window.start}
          to={to}
          onChoose={change}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  );
}

type DialogProps = {
  from: string;
  to: string | undefined;
  onChoose: (search: TracesSearch) => void;
  onClose: () => void;
};

function RangeDialog({ from, to, onChoose, onClose }: DialogProps) {
  const [problems, setProblems] = useState<RangeProblems>({});
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const fields = { from: String(form.get("from")), to: String(form.get("to")) };
    const read = readRange(fields, Date.now());
    if ("problems" in read) return setProblems(read.problems);
    onChoose(read.range);
    onClose();
  };
  const input = { type: "datetime-local", step: 1 };
  return (
    <Dialog title="Custom range" onClose={onClose}>
      <form onSubmit={submit}>
        <div className="bd grid gap-3">
          <Field
            {...input}
            label={`From, ${ZONE}`}
            name="from"
            defaultValue={toField(from)}
            problem={problems.from}
            autoFocus
          />
          <Field
            {...input}
            label={`To, ${ZONE}`}
            name="to"
            defaultValue={toField(to)}
            problem={problems.to}
          >
            Empty for now.
          </Field>
        </div>
        <FormFooter act="Show" busy="Show" isBusy={false} onClose={onClose} />
      </form>
    </Dialog>
  );
}
