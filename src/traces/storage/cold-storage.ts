import { DAY_US } from "../../shared/times.ts";
import { setEarlierAlarm } from "../../shared/work/alarm.ts";
import { chunks } from "../../shared/work/chunks.ts";
import type { PartitionKey } from "../changes.ts";
import type { BodyCopy } from "../cold/cold-bodies.ts";
import { FetchedFrames } from "../cold/fetched-frames.ts";
import type { MissingFrames } from "../cold/read-attempt.ts";
import type { FrameEntry } from "../segments/codec/frames.ts";
import type { SegmentStore } from "../segments/store.ts";
import type { PartitionStore } from "./partition.ts";
import { tracePrefix } from "./sealed-files.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = DAY_US / 1000;
/** Time after the end of a day for which its payloads stay in the object: lists mostly show recent runs. */
const COLD_AFTER_MS = 7 * DAY_MS;
/** Time without changes after which bodies are moved. A late import of a day comes in many batches. */
const QUIET_MS = HOUR_MS;
/** Time that a restored body stays. Restoring 1 MB costs as much as its storage in 16 hours. */
const RESTORED_MS = DAY_MS;
/** Smaller bodies stay: three calls of R2 cost as much as their storage in a month. */
const MIN_BYTES = 128 * 1024;
/** Time after which an alarm begins no further step. */
const STEP_MS = 20_000;
/** Number of bodies, of up to 1.8 MB each, or of frames that are read from R2 at once. */
const READ_AT_ONCE = 6;
/**
 * Number of missing bodies beyond which the first attempt stops. Each attempt may lack twice as many as the one before.
 */
const FIRST_MISSING = 4;
/** Maximum number of frames of a body that are fetched alone. A body of which an attempt lacks more is restored. */
const MAX_FRAMES = 4;
const KEY = "cold";

/**
 * State of the work since the change `seq`, the last one of the partition. `until`: highest number of a
 * segment when the work began.
 */
type ColdState = { seq: number; until: number; is_done: boolean };

/** Moves the bodies of old segments to R2, and fetches what a read needs: few frames by their ranges, or the body. */
export class ColdStorage {
  readonly #bucket: R2Bucket;
  readonly #storage: DurableObjectStorage;
  readonly #store: PartitionStore;
  readonly #segments: SegmentStore;
  #fetching: Promise<unknown> = Promise.resolve();

  constructor(env: Env, storage: DurableObjectStorage, store: PartitionStore) {
    this.#bucket = env.ARTIFACTS;
    this.#storage = storage;
    this.#store = store;
    this.#segments = store.segments;
  }

  /**
   * Does synchronous work, which reads one state of the storage because it has no await. When the work lacks bodies,
   * fetches them and repeats the whole work.
   */
  async attempt<T>(work: () => T): Promise<T> {
    const fetched = new FetchedFrames();
    try {
      for (let limit = FIRST_MISSING; ; limit *= 2) {
        const attempted = this.#segments.cold.attempt(limit, fetched, work);
        if ("result" in attempted) return attempted.result;
        await this.#inTurn(() => this.#fetch(attempted.missing, fetched));
      }
    } finally {
      fetched.release();
    }
  }

  /** Returns the time in milliseconds at which the alarm has work, `null` for never. */
  nextAt({ day }: PartitionKey): number | null {
    const times: number[] = [];
    const { firstRestored } = this.#segments.cold;
    if (firstRestored !== null) times.push(firstRestored + RESTORED_MS);
    const { seq } = this.#store.counts.current;
    if (!this.#state(seq)?.is_done && this.#segments.bodyBytes >= MIN_BYTES) {
      times.push(Math.max(Date.parse(day) + DAY_MS + COLD_AFTER_MS, seq / 1000 + QUIET_MS));
    }
    return times.length === 0 ? null : Math.min(...times);
  }

  /** Does a bounded part of the work that is due. */
  async run(partition: PartitionKey): Promise<void> {
    this.#storage.transactionSync(() => this.#segments.cold.dropRestored(Date.now() - RESTORED_MS));
    const end = Date.now() + STEP_MS;
    const { seq } = this.#store.counts.current;
    const isDue = () => (this.nextAt(partition) ?? Infinity) <= Date.now();
    while (isDue() && Date.now() < end && this.#store.counts.current.seq === seq) {
      const state = this.#state(seq) ?? {
        seq,
        until: this.#segments.loaded.lastNumber,
        is_done: false,
      };
      this.#storage.kv.put(KEY, state);
      if (this.#store.mergeSmallBodies(state.until, MIN_BYTES)) continue;
      const number = this.#segments.cold.nextHot(MIN_BYTES);
      if (number === null) this.#storage.kv.put(KEY, { ...state, is_done: true });
      else await this.#move(partition, number);
    }
  }

  #state(seq: number): ColdState | null {
    const state = this.#storage.kv.get<ColdState>(KEY);
    return state?.seq === seq ? state : null;
  }

  /** Moves a body to R2. When its segment changes during the upload, a leftover entry names the object to delete. */
  async #move({ project_id, day, slot }: PartitionKey, number: number): Promise<void> {
    const key = `${tracePrefix(project_id)}${day}/${slot}/${crypto.randomUUID()}.body`;
    const upload = await this.#bucket.createMultipartUpload(key);
    const { uploadId: upload_id } = upload;
    const { cold } = this.#segments;
    const body = this.#store.exists ? cold.begin(number, { key, upload_id }) : null;
    if (body === null) return upload.abort();
    try {
      const { size } = await upload.complete([await upload.uploadPart(1, body)]);
      if (size !== body.byteLength) throw new Error(`${key}: ${size} of ${body.byteLength} bytes`);
    } catch (error) {
      // The segment has changed or is deleted, so its upload may be aborted.
      if (!this.#store.exists || !cold.hasObject(key)) return;
      throw error;
    }
    if (this.#store.exists) this.#storage.transactionSync(() => cold.commit(number, key));
  }

  /** Does the work of one call after that of the other, so that few bodies are in memory. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#fetching.then(work);
    this.#fetching = done.catch(() => undefined);
    return done;
  }

  async #fetch(missing: MissingFrames[], fetched: FetchedFrames): Promise<void> {
    if (!this.#store.exists) return;
    const whole: number[] = [];
    const reads: [string, FrameEntry][] = [];
    for (const { number, frames } of missing) {
      const key = this.#segments.cold.r2KeyOf(number);
      if (key === null) continue;
      const bytes = frames.reduce((sum, { packed_bytes }) => sum + packed_bytes, 0);
      const isFew = frames.length <= MAX_FRAMES && fetched.reserve(bytes);
      if (isFew) reads.push(...frames.map((frame): [string, FrameEntry] => [key, frame]));
      else whole.push(number);
    }
    for (const some of chunks(reads, READ_AT_ONCE)) {
      await Promise.all(some.map((read) => this.#fetchFrame(fetched, ...read)));
    }
    if (whole.length > 0) await this.#restore(whole);
  }

  /**
   * Fetches a frame. The object may be missing when the segment has changed or is deleted: the repeated work does not
   * need the frame.
   */
  async #fetchFrame(fetched: FetchedFrames, key: string, frame: FrameEntry): Promise<void> {
    const { offset, packed_bytes: length } = frame;
    const object = await this.#bucket.get(key, { range: { offset, length } });
    const packed = object && new Uint8Array(await object.arrayBuffer());
    if (packed?.length === length) return fetched.add(key, frame, packed);
    if (!this.#store.exists || !this.#segments.cold.hasObject(key)) return;
    throw new Error(`${key}: ${packed?.length} of ${length} bytes at ${offset}`);
  }

  async #restore(numbers: number[]): Promise<void> {
    if (!this.#store.exists) return;
    for (const copies of chunks(this.#segments.cold.copiesOf(numbers), READ_AT_ONCE)) {
      const bodies = await Promise.all(copies.map((copy) => this.#read(copy)));
      if (!this.#store.exists) return;
      this.#storage.transactionSync(() => {
        for (const [n, copy] of copies.entries())
          this.#segments.cold.restore(copy, bodies[n] ?? null);
      });
    }
    this.#segments.cold.clearCache();
    await setEarlierAlarm(this.#storage, Date.now() + RESTORED_MS);
  }

  async #read({ key }: BodyCopy): Promise<ArrayBuffer | null> {
    const object = await this.#bucket.get(key);
    return object === null ? null : object.arrayBuffer();
  }
}
