type Input = { n: number };

/** Answers at once. */
export async function* echo({ n }: Input) {
  yield { half: n };
  yield { n };
}

/** Computes for some seconds. Counts rounds, because the clock does not advance while code runs. */
export async function* spin() {
  let sum = 0;
  for (let n = 0; n < 2_000_000_000; n++) sum += n % 7;
  yield { sum };
}

/** Sends more than fits into the buffers of a connection that is not read. */
export async function* flood() {
  for (let n = 0; n < 200; n++) yield { text: String(n % 10).repeat(100_000) };
}

/** Allocates until its process ends. */
export async function hoard() {
  const hoarded: number[][] = [];
  for (;;) hoarded.push(new Array(1_000_000).fill(hoarded.length));
}
