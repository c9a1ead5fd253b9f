import type { DestinationProbe } from "../../exports/destination-schema.ts";
import type { StatusKind } from "../ui/icons/status-kind.ts";

type RightRow = DestinationProbe["rights"][number];

export const KINDS: Record<RightRow["status"], StatusKind> = {
  granted: "ok",
  refused: "failed",
  not_checked: "skipped",
};
export const WORDS: Record<RightRow["status"], string> = {
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

const WORST = ["refused", "not_checked", "granted"] as const;

/** Merges the checks of each right into one row, with the worst result and the purposes of all. */
export function toRightRows(rights: RightRow[]): RightRow[] {
  return [...Map.groupBy(rights, ({ right }) => right).values()].flatMap((checks) => {
    const worst = WORST.flatMap((each) => checks.filter(({ status }) => status === each))[0];
    return worst === undefined ? [] : [{ ...worst, ...together(checks) }];
  });
}

function together(checks: RightRow[]): Pick<RightRow, "needed_for" | "is_required"> {
  return {
    needed_for: checks.map(({ needed_for }) => needed_for).join("; "),
    is_required: checks.some(({ is_required }) => is_required),
  };
}
