// The low bits are random: two forks of a thread count up from the same version, and values are
// stored once per (channel, version). The whole stays an exact integer for 2^32 steps.
const FORK_BITS = 2 ** 20;

export function nextVersion(current: number | undefined): number {
  const step = Math.floor((current ?? 0) / FORK_BITS) + 1;
  return step * FORK_BITS + Math.floor(Math.random() * FORK_BITS);
}
