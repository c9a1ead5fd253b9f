// A call is one invocation of this isolate by RPC or a request. Objects of the runtime, such as sockets and timers,
// work only in the call that made them, and end with it. But a pool of connections in a module serves many calls.
// Therefore other calls give jobs to the call that opened a socket, which then uses the socket for them. Timers of
// modules move from call to call.
//
// A call is coming, then live while its own work lasts. After that it lends its sockets to the live ones, and does their
// jobs, until it is gone.
//
// The runtime may end a call without notice, for example when its caller has disconnected. Other calls detect this end,
// because an ended call does no more jobs.

import { waitUntil } from "cloudflare:workers";
import { AsyncLocalStorage } from "node:async_hooks";
import { LateTimer } from "./late-timer.ts";
import { Lending, type LiveCall, type OwnSocket } from "./lending.ts";

/**
 * Interval at which a call checks that the calls whose sockets it uses have not ended. The timer also keeps the call
 * running: the runtime ends a call that waits without a timer.
 */
const CHECK_MS = 1000;
/**
 * Five waits of this time are the deadline for a call to begin a job. After a long turn of the event loop one timer
 * fires before the job begins, so a single wait could report a call as ended that is not.
 */
const ANSWER_MS = 200;
const ANSWER_WAITS = 5;

export const OPENER_ENDED =
  "The run or request that opened this socket has ended: open another socket.";

const startTimer = globalThis.setTimeout;
const stopTimer = globalThis.clearTimeout;
const startInterval = globalThis.setInterval;
const stopInterval = globalThis.clearInterval;

/**
 * Call in which code runs. `isOwn`: the code is a part of the call's own work, and not a module's code that outlives
 * the call, such as a timer of a pool. Absent while the isolate starts.
 */
type Position = { call: Call; isOwn: boolean };

const position = new AsyncLocalStorage<Position>();
const live = new Set<Call>();
/** Calls that do jobs: live ones, and those that lend sockets. */
const serving = new Set<Call>();
/**
 * Disconnected sockets. The next call that begins, or a live call at its next check, notifies their owners. An owner,
 * such as a pool, can connect again in that call.
 */
const disconnected: OwnSocket[] = [];
/** Call that has not begun. It collects work while no call is live. `Call.begin` starts it as the next call. */
let coming: Call | null = null;
/** Runs code outside of all async contexts of calls. */
const outside = AsyncLocalStorage.snapshot();
/** Number of calls that notify owners of sockets now. A call that begins lets them go first. */
let notifying = 0;

/** A call of this isolate: a run, a request, a read of a state. */
export class Call implements LiveCall {
  /** Working directory of the agent, if it is not the root. The runtime begins each call in the root. */
  static directory: string | null = null;

  readonly #sockets = new Set<OwnSocket>();
  readonly #timers = new Set<LateTimer>();
  readonly #jobs: (() => void)[] = [];
  // `#start` replaces it, because a promise belongs to the call in which it was made.
  #wake = Promise.withResolvers<void>();
  /** Whether the call does no more jobs. */
  #isGone = false;
  /** Calls whose sockets this one uses. */
  readonly #lenders = new Set<Call>();
  #checks: ReturnType<typeof setInterval> | undefined;

  /** The call in which this code can work: its own while live, else the newest live one, else the next to begin. */
  static get current(): Call {
    const call = position.getStore()?.call;
    if (call?.isLive) return call;
    coming ??= new Call();
    return [...live].at(-1) ?? coming;
  }

  /**
   * Begins a call. A pool may have sockets of calls that the runtime has ended: finds them, so that the pool has dropped them
   * before the call's own code uses it.
   */
  static async begin(): Promise<Call> {
    const call = coming ?? new Call();
    coming = null;
    call.#start();
    const others = [...serving].filter((other) => other !== call && other.#isNeeded);
    if (others.length > 0) await Call.#dropEnded(others);
    if (disconnected.length > 0) await call.#notifyOwners();
    if (notifying > 0) await wait(0);
    return call;
  }

  get isLive(): boolean {
    return live.has(this);
  }

  /** Whether other calls have work in progress. */
  get hasOthers(): boolean {
    return live.size > (this.isLive ? 1 : 0);
  }

  run<T>(work: () => T): T {
    return position.run({ call: this, isOwn: true }, work);
  }

  #runForModule<T>(work: () => T): T {
    return position.run({ call: this, isOwn: false }, work);
  }

  /**
   * Loads modules in the current call: they outlive it, so they are not a part of its work, and have none of its async
   * contexts. The load continues when the caller has disconnected.
   */
  static load<T>(load: () => Promise<T>): Promise<T> {
    const call = Call.current;
    const loading = outside(() => call.#runForModule(load));
    waitUntil(loading.catch(() => {}));
    return loading;
  }

  /**
   * Does `work` in this call: at once for the call's own code, as a job for code of another call. Rejects when the call
   * does no more jobs.
   */
  do<T>(work: () => Promise<T>): Promise<T> {
    if (this.isLive && position.getStore()?.call === this) return work();
    if (this.#isGone) return Promise.reject(new Error(OPENER_ENDED));
    return new Promise((resolve, reject) => {
      this.#jobs.push(() => void work().then(resolve, reject));
      this.#wake.resolve();
    });
  }

  own(socket: OwnSocket) {
    this.#sockets.add(socket);
  }

  disown(socket: OwnSocket) {
    this.#sockets.delete(socket);
  }

  /** Notes that the current call uses `socket` of this call, so that the socket stays open for the current call. */
  lend(socket: OwnSocket) {
    const { call, isOwn } = position.getStore() ?? {};
    if (!(call?.isLive && isOwn) || call === this) return;
    socket.users.add(call);
    call.#lenders.add(this);
    call.#checks ??= startInterval(() => void call.#checkLenders(), CHECK_MS);
  }

  async #checkLenders(): Promise<void> {
    await Call.#dropEnded([...this.#lenders]);
    if (disconnected.length > 0) await this.#notifyOwners();
  }

  /** Drops the calls that the runtime has ended. */
  static async #dropEnded(calls: Call[]): Promise<void> {
    const check = async (call: Call) => {
      if (!(await call.#answers())) call.#drop();
    };
    await Promise.all(calls.map(check));
  }

  /** Whether the call begins a job before the deadline. */
  async #answers(): Promise<boolean> {
    let isAnswered = false;
    const answer = this.do(async () => {
      isAnswered = true;
    }).catch(() => {});
    for (let waits = 0; waits < ANSWER_WAITS && !isAnswered; waits++) {
      await Promise.race([answer, wait(ANSWER_MS)]);
    }
    return isAnswered;
  }

  #drop() {
    if (this.#isGone) return;
    this.#stopServing();
    disconnected.push(...this.#sockets);
    this.#leave();
  }

  #stopServing() {
    this.#isGone = true;
    serving.delete(this);
  }

  /** Whether modules have sockets or timers in this call. */
  get #isNeeded(): boolean {
    return this.#sockets.size > 0 || this.#timers.size > 0;
  }

  /** Adds timers of modules. A live call starts them, also when code of another call adds them. */
  addTimers(timers: LateTimer[]) {
    for (const timer of timers) timer.joinTo(this.#timers);
    if (this.isLive) void this.do(async () => this.#startTimers(timers));
  }

  /**
   * Ends the call after `rest`, its remaining work. Sockets that other calls use stay open for up to 25 seconds more.
   */
  end(rest?: Promise<unknown>) {
    if (rest || this.#sockets.size > 0) return waitUntil(this.run(() => this.#end(rest)));
    this.#leave();
    this.#stopServing();
  }

  /** Ends the call. With open sockets, ends it after the last byte of the response, which may come from them. */
  endWith(response: Response): Response {
    if (response.body === null || this.#sockets.size === 0) {
      this.end();
      return response;
    }
    const { readable, writable } = new TransformStream();
    this.end(response.body.pipeTo(writable).catch(() => {}));
    return new Response(readable, response);
  }

  async #end(rest: Promise<unknown> | undefined): Promise<void> {
    await rest?.catch(() => {});
    this.#leave();
    const lending = new Lending();
    const close = async (socket: OwnSocket) => {
      await lending.waitForClose(socket, live);
      this.disown(socket);
      if (socket.isClosed) return;
      disconnected.push(socket);
      await socket.disconnect();
    };
    // Repeats, because a socket that starts TLS is replaced by another one.
    while (this.#sockets.size > 0) await Promise.all([...this.#sockets].map(close));
    this.#stopServing();
    this.#wake.resolve();
  }

  /** Ends the call's own work, and moves its timers to other calls. */
  #leave() {
    live.delete(this);
    stopInterval(this.#checks);
    const timers = [...this.#timers];
    for (const timer of timers) timer.leave(this.#timers);
    coming ??= new Call();
    // Both the next call and the newest live one get the timers, because the runtime may have ended the live one. A
    // timer fires in the first call that can.
    coming.addTimers(timers);
    [...live].at(-1)?.addTimers(timers);
  }

  #startTimers(timers: Iterable<LateTimer>) {
    this.#runForModule(() => {
      for (const timer of timers) timer.start(this.#timers);
    });
  }

  #start() {
    enterDirectory();
    live.add(this);
    serving.add(this);
    this.#wake = Promise.withResolvers();
    if (this.#jobs.length > 0) this.#wake.resolve();
    void this.#runForModule(() => this.#serve());
    this.#startTimers(this.#timers);
  }

  async #notifyOwners(): Promise<void> {
    notifying += 1;
    try {
      this.#runForModule(() => {
        for (const socket of disconnected.splice(0)) socket.notify();
      });
      await wait(0);
    } finally {
      notifying -= 1;
    }
  }

  /** Does the jobs of other calls until this one ends. */
  async #serve(): Promise<void> {
    while (!this.#isGone) {
      await this.#wake.promise;
      this.#wake = Promise.withResolvers();
      for (const job of this.#jobs.splice(0)) job();
    }
  }
}

function enterDirectory() {
  try {
    if (Call.directory !== null) process.chdir(Call.directory);
  } catch {
    // The agent has no files there that it could read.
  }
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => startTimer(resolve, ms));
}

/** Does `work` as one call of this isolate. */
export async function asCall<T>(work: () => Promise<T>): Promise<T> {
  const call = await Call.begin();
  try {
    return await call.run(work);
  } finally {
    call.end();
  }
}

const addToCurrent = (timer: LateTimer) => Call.current.addTimers([timer]);

/** Returns a `setTimeout` or `setInterval` whose timers in modules are late ones. */
function late<T extends typeof setTimeout | typeof setInterval>(
  start: T,
  again?: (timer: LateTimer) => void,
): T {
  return new Proxy(start, {
    apply(target, self, [callback, ms = 0, ...args]) {
      if (position.getStore()?.isOwn || typeof callback !== "function") {
        return Reflect.apply(target, self, [callback, ms, ...args]);
      }
      const timer = new LateTimer(callback, ms, args, again);
      addToCurrent(timer);
      return timer;
    },
  });
}

/** Returns a `clearTimeout` or `clearInterval` that stops late timers too. */
function stopLate<T extends typeof clearTimeout | typeof clearInterval>(stop: T): T {
  return new Proxy(stop, {
    apply(target, self, [timer]) {
      if (timer instanceof LateTimer) timer.close();
      else Reflect.apply(target, self, [timer]);
    },
  });
}

globalThis.setTimeout = late(startTimer);
globalThis.clearTimeout = stopLate(stopTimer);
globalThis.setInterval = late(startInterval, addToCurrent);
globalThis.clearInterval = stopLate(stopInterval);
