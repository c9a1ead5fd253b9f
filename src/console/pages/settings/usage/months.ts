const MONTH_CHARACTERS = 7;

/** Returns the current month in UTC, such as `2026-11`. */
export function monthNow(): string {
  return new Date().toISOString().slice(0, MONTH_CHARACTERS);
}

/** @returns the month of the address when it is a month that has begun, else the current one */
export function monthOf(text: string | undefined): string {
  const now = monthNow();
  return text !== undefined && /^20\d\d-(0[1-9]|1[0-2])$/.test(text) && text < now ? text : now;
}

/** @param shift number of months to add, negative for an earlier month */
export function shiftMonth(month: string, shift: number): string {
  const [year = 0, number = 0] = month.split("-").map(Number);
  const shifted = new Date(Date.UTC(year, number - 1 + shift, 1));
  return shifted.toISOString().slice(0, MONTH_CHARACTERS);
}

/** Returns the first and the last day of a month. The last day of the current month is today. */
export function rangeOf(month: string): { from: string; to: string } {
  const from = `${month}-01`;
  if (month === monthNow()) return { from, to: new Date().toISOString().slice(0, 10) };
  const [year = 0, number = 0] = month.split("-").map(Number);
  return { from, to: new Date(Date.UTC(year, number, 0)).toISOString().slice(0, 10) };
}
