import { useEffect, useRef, useState } from "react";
import type { FilterValidation } from "../../../../traces/query/filter-schema.ts";
import { useApiQuery } from "../../../api/hooks.ts";
import { apiPath } from "../../../api/path.ts";
import { meantFilter } from "../../../traces/filter-edit.ts";
import { type FilterError, readError } from "../../../traces/filter-error.ts";

const WAIT_MS = 250;

export type FilterCheck = {
  error: FilterError | null;
  /** Why the filter could not be checked. */
  failure: Error | null;
  isValid: boolean;
  applyNow: () => void;
};

/** Checks a filter with the service after a pause in typing, and applies it when it is valid or empty. */
export function useCheck(
  text: string,
  applied: string,
  onApply: (filter: string) => unknown,
): FilterCheck {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), WAIT_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const filter = meantFilter(settled);
  const isEmpty = filter === "";
  const query = useApiQuery<FilterValidation>(apiPath`/api/v1/runs/query/validate`, {
    post: { filter },
    enabled: !isEmpty,
  });
  const { data } = query;
  const isSettled = settled === text;
  const [problem] = data?.errors ?? [];
  const isValid = isSettled && !isEmpty && data?.valid === true;
  const isReady = isSettled && (isEmpty || isValid);
  const apply = useRef(onApply);
  apply.current = onApply;
  useEffect(() => {
    if (isReady && filter !== applied) apply.current(filter);
  }, [isReady, filter, applied]);
  return {
    error:
      isSettled && !isEmpty && problem ? within(text, readError(problem.message, filter)) : null,
    failure: isSettled && !isEmpty ? query.error : null,
    isValid,
    applyNow: () => setSettled(text),
  };
}

/** Moves the position of an error from the filter to the field, which may have spaces before it. */
function within(text: string, error: FilterError): FilterError {
  if (error.offset === null) return error;
  const spaces = text.length - text.trimStart().length;
  return { ...error, offset: error.offset + spaces, end: error.end + spaces };
}
