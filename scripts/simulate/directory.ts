import { DIRECTORY_SIZE } from "../../src/agent-server/threads/contract/directory-slots.ts";
import { generationAfter, slotsUpTo } from "../../src/shared/storage/slots.ts";

type Generation = { objects: number; threads: number };

/** Objects of a deployment's directory, by generation. Only those of the last generation are not full. */
export class DirectoryOfDeployment {
  readonly #generations: Generation[] = [];

  constructor(threads: number) {
    let left = threads;
    do {
      const generation = this.#generations.length;
      const first = this.objects;
      const objects = slotsUpTo(generation).length - first;
      const isUnlimited = generationAfter(first) === generation;
      const held = isUnlimited ? left : Math.min(left, objects * DIRECTORY_SIZE.max_threads);
      this.#generations.push({ objects, threads: held });
      left -= held;
    } while (left > 0);
  }

  /** Number of objects that a search calls. */
  get objects(): number {
    return this.#generations.reduce((sum, { objects }) => sum + objects, 0);
  }

  /** Threads of the fullest object. */
  get most_threads(): number {
    return Math.max(...this.#generations.map(({ objects, threads }) => threads / objects));
  }

  /**
   * Calls of each object when runs are spread over all threads, and new threads belong to the last generation.
   * @param lasting calls per second for existing threads
   * @param temporary calls per second for new threads
   * @returns calls per second of each object
   */
  callsOfObjects(lasting: number, temporary: number): number[] {
    const all = this.#generations.reduce((sum, { threads }) => sum + threads, 0);
    return this.#generations.flatMap(({ objects, threads }, generation) => {
      const isLast = generation === this.#generations.length - 1;
      const share = all === 0 ? Number(isLast) : threads / all;
      const calls = lasting * share + (isLast ? temporary : 0);
      return Array<number>(objects).fill(calls / objects);
    });
  }
}
