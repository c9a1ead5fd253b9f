// The low 20 bits are random: two forks of a thread count up from the same version, and values are
// stored once per (channel, version). A version is an exact integer for 2^33 steps.
const RANDOM_RANGE = 2 ** 20;

export function nextVersion(current: number | undefined): number {
  const step = Math.floor((current ?? 0) / RANDOM_RANGE) + 1;
  return step * RANDOM_RANGE + Math.floor(Math.random() * RANDOM_RANGE);
}
