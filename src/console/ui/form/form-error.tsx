import { useEffect, useRef } from "react";
import { problemsOf } from "../../api/errors.ts";
import { ErrorState } from "../states.tsx";

type Props = {
  /** The failure, such as "The key was not created". */
  what: string;
  error: Error | null;
  /** Fields that show their own problem. */
  fields: string[];
};

/**
 * Shows why a form was refused, unless each problem is of a field that shows it. Moves the focus to the first invalid
 * field.
 */
export function FormError({ what, error, fields }: Props) {
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (error === null) return;
    const form = ref.current?.closest("form");
    form?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [error]);
  const names = Object.keys(problemsOf(error));
  const isAtFields = names.length > 0 && names.every((name) => fields.includes(name));
  return <div ref={ref}>{error && !isAtFields && <ErrorState what={what} error={error} />}</div>;
}
