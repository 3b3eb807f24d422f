// The connection: newest news in, commands out; which demo it is decides what is drawn.
import { ArenaView } from "./arena.js";
import { setText } from "./page.js";
import { RacingView } from "./racing.js";
import { SessionView } from "./session.js";
import { TanksView } from "./tanks.js";

const VIEWS = { arena: ArenaView, racing: RacingView, session: SessionView, tanks: TanksView };
const AGAIN_MS = 1000;

const subject = document.getElementById("subject");
const status = document.getElementById("status");
const root = document.getElementById("view");
const token = decodeURIComponent(location.hash.slice(1));

/** For whoever measures: frames that came, frames that were drawn, the newest news, what the charts' marks say. */
const counts = { received: 0, drawn: 0, frame: null, settings: null, marks: () => view.marks.list.map((mark) => mark.text) };
window.fairlead = counts;

let view = null;
let frame = null;
let control = false;
let socket = null;
let version = "";

function send(command) {
  if (control && socket?.readyState === WebSocket.OPEN) {
    socket.send(JSON.stringify(command));
  }
}

function say(text, bad = false) {
  setText(status, text);
  status.classList.toggle("bad", bad);
}

function begin(hello) {
  if (version !== "" && version !== hello.version + hello.demo) {
    location.reload(); // another program answers: its page may differ
    return;
  }
  version = hello.version + hello.demo;
  if (view === null) {
    view = new VIEWS[hello.demo](root, hello, send);
  }
  setText(subject, view.subject);
  view.control(control);
}

const hear = {
  hello: begin,
  settings: (news) => {
    counts.settings = news;
    view?.settings(news);
  },
  control: (news) => {
    control = news.control;
    view?.control(control);
    say(control ? "live" : news.looks ? "live, looking on: open the address that the program printed to take part"
      : "This address shows nothing by itself: open the one that the program printed, with all that follows the #.",
    !news.looks);
  },
  frame: (news) => {
    counts.received += 1;
    counts.frame = news;
    frame = news;
  },
};

function connect() {
  socket = new WebSocket(`ws://${location.host}/live`);
  socket.onopen = () => {
    say("live");
    socket.send(JSON.stringify({ token }));
  };
  socket.onmessage = (event) => {
    const news = JSON.parse(event.data);
    hear[news.type]?.(news);
  };
  socket.onclose = () => {
    control = false;
    view?.control(false);
    say("The program does not answer. Start it again: this page goes on by itself.", true);
    setTimeout(connect, AGAIN_MS);
  };
}

function draw() {
  if (view !== null && frame !== null) {
    view.frame(frame);
    counts.drawn += 1;
    frame = null;
  }
  requestAnimationFrame(draw);
}

connect();
requestAnimationFrame(draw);
