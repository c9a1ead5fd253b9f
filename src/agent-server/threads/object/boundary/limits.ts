/** Limits of the messages between agents' code and a thread. RPC takes 32 MiB a message. */

const MIB = 1024 * 1024;

export const MAX_COMMIT_BYTES = 32 * MIB;
export const MAX_OPS = 65_536;
/** Channel values of one checkpoint; writes of one operation. */
export const MAX_ENTRIES = 65_536;
export const MAX_VALUE_BYTES = 24 * MIB;
/** Rows have at most 2 MB with all columns. */
export const MAX_ROW_BYTES = 1_900_000;
/** A payload of a trace run, with the text that it shares with another one. */
export const MAX_PAYLOAD_CHARACTERS = 10 * MIB;
/** All payloads of a commit, with their shared texts. */
export const MAX_PAYLOADS_CHARACTERS = 16 * MIB;
/**
 * Bytes that one attempt at a run, or a state update, commits: checkpoints, writes, traces and a quarter of its events.
 */
export const MAX_RUN_BYTES = 1024 * MIB;
/** Bytes of events that count as one byte of an attempt, because repeated values of a state are stored once. */
export const EVENT_BYTES_PER_BYTE = 4;
/** Objects and lists of one event, which readers parse. */
export const MAX_EVENT_CONTAINERS = 500_000;
/** Storage that one operation, event or value takes beside its content. */
export const OVERHEAD_BYTES = 64;
/** Events of a run, over all its attempts. */
export const MAX_EVENT_CHARACTERS = 64 * MIB;
export const EVENT_LIMIT_TEXT = `The run emitted more than ${MAX_EVENT_CHARACTERS} characters of events (${OVERHEAD_BYTES} and the name count for each, repeated values of a state once): use fewer stream modes, or emit fewer or smaller events.`;
/** Checkpoints of one answer. */
export const MAX_PAGE_CHECKPOINTS = 16;
/** A page of checkpoints ends with the checkpoint that takes it over this. */
export const MAX_PAGE_BYTES = 24 * MIB;
/** A checkpoint with its values and writes, and a page of them: each is one message. */
export const MAX_CHECKPOINT_BYTES = 31 * MIB;
/** Metadata that one filtered list reads. */
export const MAX_SCANNED_CHARACTERS = 32 * MIB;
/** Stored checkpoints that one commit reads to find the originals of copies. */
export const MAX_ORIGINALS_BYTES = 32 * MIB;
export const MAX_VALUES_CHARACTERS = 24 * MIB;
/** Objects and lists of the values, which are parsed to be shown. */
export const MAX_VALUES_CONTAINERS = 500_000;
/** A quarter of the message that ends a run, which has the state too. */
export const MAX_INTERRUPTS_CHARACTERS = 8 * MIB;
/** Objects and lists of the interrupts, which each read of the thread parses. */
export const MAX_INTERRUPTS_CONTAINERS = 100_000;
export const MAX_ANSWER_CHARACTERS = 31 * MIB;
/** Objects and lists of a state or a history. */
export const MAX_ANSWER_CONTAINERS = 1_000_000;
export const MAX_AUTHENTICATE_CHARACTERS = 64 * 1024;
/**
 * Rate at which one isolate sends checkpoints to the agents of a workspace. An agent takes several times as many.
 */
export const READ_BYTES_PER_SECOND = 64 * MIB;
/** Half a second of that rate may be sent at once: one page of checkpoints is not paced. */
export const READ_BURST_MS = 500;
/** Bytes that one call may leave unconfirmed. Beyond them, its next read waits until the isolate has confirmed all. */
export const MAX_UNCONFIRMED_BYTES = 8 * MIB;
/** Maximum reads of one call in progress, with those that wait for their turn. */
export const MAX_WAITING_READS = 1000;
