// The runtime's objects work only in the call of the isolate that made them, and end with it. A pool of connections in a
// module serves many calls: the call that opened a socket does the work of the others on it, and timers of the module go
// from call to call.

import { waitUntil } from "cloudflare:workers";
import { AsyncLocalStorage } from "node:async_hooks";
import { LateTimer } from "./late-timer.ts";
import { Lending, type LiveCall, type OwnSocket } from "./lending.ts";

/** Between looks at the calls whose sockets a call uses. The runtime ends a call that waits without a timer. */
const LOOK_MS = 1000;
/** In which a call begins a job. Several short waits: after a long turn of another call, a timer would be first. */
const ANSWER_MS = 200;
const ANSWER_WAITS = 5;

const startTimer = globalThis.setTimeout;
const stopTimer = globalThis.clearTimeout;

/** Code of a module has no part in the work of its call: it outlives that. None while the module loads. */
type Position = { call: Call; isOwn: boolean };

const position = new AsyncLocalStorage<Position>();
const live = new Set<Call>();
/** Calls that do jobs: live ones, and those that lend sockets. */
const serving = new Set<Call>();
/** Disconnected sockets. Their owners are notified in the next call, where they can connect again. */
const disconnected: OwnSocket[] = [];
/** Gets the work that finds no call. The next one becomes it. */
let coming: Call | null = null;
/** Calls that notify owners of sockets before their own work. */
let notifying = 0;

/** A call of this isolate: a run, a request, a read of a state. */
export class Call implements LiveCall {
  readonly #sockets = new Set<OwnSocket>();
  readonly #timers = new Set<LateTimer>();
  readonly #jobs: (() => void)[] = [];
  // A promise belongs to the call in which it is made: this one is made again at the beginning.
  #wake = Promise.withResolvers<void>();
  #isGone = false;
  /** Calls whose sockets this one uses. */
  readonly #lenders = new Set<Call>();
  #looks: ReturnType<typeof setInterval> | undefined;

  /** The call in which this code can do its work. */
  static get current(): Call {
    const call = position.getStore()?.call;
    if (call?.isLive) return call;
    coming ??= new Call();
    return [...live].at(-1) ?? coming;
  }

  static async begin(): Promise<Call> {
    const call = coming ?? new Call();
    coming = null;
    call.#start();
    const others = [...serving].filter((other) => other !== call && other.#isNeeded);
    if (others.length > 0) await Call.#lookAt(others);
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

  /** Does `work` in this call, for any other. At once if it is this one. */
  do<T>(work: () => Promise<T>): Promise<T> {
    if (this.isLive && position.getStore()?.call === this) return work();
    if (this.#isGone) return Promise.reject(new Error("The run that opened this socket is over."));
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

  /** Keeps `socket` open for the current call. */
  lend(socket: OwnSocket) {
    const { call, isOwn } = position.getStore() ?? {};
    if (!(call?.isLive && isOwn) || call === this) return;
    socket.users.add(call);
    call.#lenders.add(this);
    call.#looks ??= setInterval(() => void call.#lookAtLenders(), LOOK_MS);
  }

  async #lookAtLenders(): Promise<void> {
    await Call.#lookAt([...this.#lenders]);
    if (disconnected.length > 0) await this.#notifyOwners();
  }

  /** The runtime ends a call whose caller is gone, without a word. */
  static async #lookAt(calls: Call[]): Promise<void> {
    const look = async (call: Call) => {
      if (!(await call.#answers())) call.#vanish();
    };
    await Promise.all(calls.map(look));
  }

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

  #vanish() {
    if (this.#isGone) return;
    this.#stopServing();
    disconnected.push(...this.#sockets);
    this.#leave();
  }

  #stopServing() {
    this.#isGone = true;
    serving.delete(this);
  }

  /** For sockets and timers of modules. */
  get #isNeeded(): boolean {
    return this.#sockets.size > 0 || this.#timers.size > 0;
  }

  later(timer: LateTimer) {
    timer.joinTo(this.#timers);
    if (this.isLive) this.#startTimers([timer]);
  }

  /** `rest`: work that is left. Sockets that others use stay open until those are over. */
  end(rest?: Promise<unknown>) {
    if (rest || this.#sockets.size > 0) return waitUntil(this.run(() => this.#end(rest)));
    this.#leave();
    this.#stopServing();
  }

  /** Ends with the last byte of the response, which may come from the sockets. */
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
      await lending.close(socket, live);
      this.disown(socket);
      if (socket.isClosed) return;
      disconnected.push(socket);
      await socket.disconnect();
    };
    // A socket that starts TLS becomes another.
    while (this.#sockets.size > 0) await Promise.all([...this.#sockets].map(close));
    this.#stopServing();
    this.#wake.resolve();
  }

  #leave() {
    live.delete(this);
    clearInterval(this.#looks);
    const timers = [...this.#timers];
    for (const timer of timers) timer.leave(this.#timers);
    coming ??= new Call();
    // Where they fire first. The runtime may have ended a call that looks live, without a word.
    coming.#take(timers);
    const newest = [...live].at(-1);
    if (newest) newest.#take(timers);
  }

  #take(timers: LateTimer[]) {
    for (const timer of timers) timer.joinTo(this.#timers);
    if (this.isLive) void this.do(async () => this.#startTimers(timers));
  }

  #startTimers(timers: Iterable<LateTimer>) {
    this.#runForModule(() => {
      for (const timer of timers) timer.start();
    });
  }

  #start() {
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

  async #serve(): Promise<void> {
    while (!this.#isGone) {
      await this.#wake.promise;
      this.#wake = Promise.withResolvers();
      for (const job of this.#jobs.splice(0)) job();
    }
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

globalThis.setTimeout = new Proxy(startTimer, {
  apply(target, self, [callback, ms = 0, ...args]) {
    if (position.getStore()?.isOwn || typeof callback !== "function") {
      return Reflect.apply(target, self, [callback, ms, ...args]);
    }
    const timer = new LateTimer(callback, ms, args);
    Call.current.later(timer);
    return timer;
  },
});

globalThis.clearTimeout = new Proxy(stopTimer, {
  apply(target, self, [timer]) {
    if (timer instanceof LateTimer) timer.close();
    else Reflect.apply(target, self, [timer]);
  },
});
