import { type RefObject, useEffect, useId, useRef, useState } from "react";
import type { KnownValues } from "../../../traces/completion.ts";
import type { FilterError } from "../../../traces/filter-error.ts";
import { InlineError } from "../../../ui/blocks/inline-error.tsx";
import { Icon } from "../../../ui/icon.tsx";
import { Highlight } from "./highlight.tsx";
import { type FilterCheck, useCheck } from "./use-check.ts";
import { type CompletionState, useCompletion } from "./use-completion.ts";

type Props = {
  value: string;
  known: KnownValues;
  onApply: (filter: string) => void;
};

/** Edits the filter. The service checks it while it is typed, and a valid one is applied. */
export function FilterBar({ value, known, onApply }: Props) {
  const { text, edit, clear, applyEdited } = useEdited(value, onApply);
  const check = useCheck(text, value, applyEdited);
  const input = useRef<HTMLInputElement>(null);
  const completion = useCompletion(input, text, known, edit);
  const id = useId();
  const { error } = check;
  const fix = () => {
    if (error?.fix && error.offset !== null) {
      edit(text.slice(0, error.offset) + error.fix + text.slice(error.end));
      input.current?.focus();
    }
  };
  return (
    <div className="filter">
      <div className={`filter-box search ${error ? "bad" : ""}`}>
        <Icon name="filter" small />
        <Field {...{ id, text, edit, check, completion, input }} />
        {check.isValid && (
          <span className="ok sm row gap-1 hide-m">
            <Icon name="check" small /> valid
          </span>
        )}
        {text !== "" && (
          <button
            type="button"
            className="btn ghost icon sm"
            aria-label="Clear the filter"
            onClick={clear}
          >
            <Icon name="close" small />
          </button>
        )}
        <Options id={id} completion={completion} />
      </div>
      <div id={`${id}-error`} role="status">
        {error && <FilterProblem error={error} onFix={fix} />}
        <InlineError error={check.failure} />
      </div>
    </div>
  );
}

/**
 * Holds the text of the field. A value that this field applied reaches the address later, when the text may be newer, so
 * it does not replace the text. Values from elsewhere do: from a facet, a saved view, or the back button.
 */
function useEdited(value: string, onApply: (filter: string) => void) {
  const [text, setText] = useState(value);
  const isEdited = useRef(false);
  // Values that have not reached the address, in the order in which this field applied them.
  const applied = useRef<string[]>([]);
  const former = useRef(value);
  useEffect(() => {
    if (former.current === value) return;
    former.current = value;
    const at = applied.current.indexOf(value);
    applied.current = at < 0 ? [] : applied.current.slice(at + 1);
    if (at >= 0) return;
    isEdited.current = false;
    setText(value);
  }, [value]);
  const apply = (filter: string) => {
    if (filter !== value) applied.current.push(filter);
    onApply(filter);
  };
  const clear = () => {
    isEdited.current = false;
    setText("");
    apply("");
  };
  const edit = (next: string) => {
    isEdited.current = true;
    setText(next);
  };
  const applyEdited = (filter: string) => {
    if (isEdited.current) apply(filter);
  };
  return { text, edit, clear, applyEdited };
}

type FieldProps = {
  id: string;
  text: string;
  edit: (text: string) => void;
  check: FilterCheck;
  completion: CompletionState;
  input: RefObject<HTMLInputElement | null>;
};

function Field({ id, text, edit, check: { error, applyNow }, completion, input }: FieldProps) {
  const { isOpen, chosen, open, close, onKey } = completion;
  return (
    <div className="filter-in mono">
      <Highlight text={text} error={error} input={input} />
      <input
        ref={input}
        role="combobox"
        aria-label="Filter"
        aria-expanded={isOpen}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={isOpen ? `${id}-${chosen}` : undefined}
        aria-invalid={error !== null}
        aria-describedby={`${id}-error`}
        placeholder={'A word, or a filter such as eq(status, "error")'}
        spellCheck={false}
        autoComplete="off"
        value={text}
        onChange={(event) => {
          edit(event.target.value);
          open();
        }}
        onKeyDown={(event) => {
          if (!onKey(event) && event.key === "Enter") applyNow();
        }}
        onClick={open}
        onBlur={close}
      />
    </div>
  );
}

function Options({ id, completion }: { id: string; completion: CompletionState }) {
  const { isOpen, options, chosen, accept } = completion;
  return (
    <div id={`${id}-list`} role="listbox" aria-label="Completions" hidden={!isOpen} className="pop">
      {options.map(({ label, hint }, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the field above handles the keys
        <div
          key={label}
          id={`${id}-${index}`}
          className="opt"
          role="option"
          tabIndex={-1}
          aria-selected={index === chosen}
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => accept(index)}
        >
          <span className="mono cut">{label}</span>
          <span className="push dim nw">{hint}</span>
        </div>
      ))}
    </div>
  );
}

/** Names the character at which a filter is wrong, the reason, and a fix where one is known. */
function FilterProblem({ error, onFix }: { error: FilterError; onFix: () => void }) {
  return (
    <div className="filter-error">
      <span className="err">
        <Icon name="status-failed" small />
      </span>
      <span>
        {error.offset !== null && `At character ${error.offset + 1}: `}
        {error.text}{" "}
        {error.fix && (
          <button type="button" className="link" onClick={onFix}>
            Use {error.fix}
          </button>
        )}
      </span>
      <span className="dim push hide-m">Results below are of the last valid filter</span>
    </div>
  );
}
