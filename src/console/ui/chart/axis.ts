export type Axis = { max: number; ticks: number[] };

const FACTORS = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10];

/** Returns an axis from 0 to a round maximum, with a tick at the end of each part. */
export function axisOf(largest: number, parts: number): Axis {
  if (largest <= 0) return { max: 1, ticks: [0] };
  const wanted = largest / parts;
  const power = 10 ** Math.floor(Math.log10(wanted));
  // 0.999 absorbs rounding errors, such as of 0.1 + 0.2.
  const step = (FACTORS.find((factor) => factor * power >= wanted * 0.999) ?? 10) * power;
  // A whole maximum, such as a number of runs, gets whole ticks if it is not below the number of parts.
  const whole = largest >= parts && Number.isInteger(largest) ? Math.ceil(step) : step;
  return { max: whole * parts, ticks: Array.from({ length: parts + 1 }, (_, n) => n * whole) };
}
