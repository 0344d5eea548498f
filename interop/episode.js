// The harness's side of one MiniWoB episode, injected into the task's page: starts it with the seed of
// the query string, tells the harness the utterance, and the reward as soon as there is one.
//
// An agent gets none of this: no element, no text, and nothing on the page changes when an episode ends.
(() => {
  "use strict";
  const query = new URLSearchParams(location.search);
  const task = location.pathname.replace(/^.*\//, "").replace(/\.html$/, "");
  const about = { task, seed: Number(query.get("seed")), load: query.get("load") || "agent" };
  const tell = (event) =>
    fetch("/harness/report", {
      method: "POST",
      keepalive: true,
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...about, ...event }),
    });

  let told = false;
  const tellReward = () => {
    if (!WOB_DONE_GLOBAL || told) return;
    told = true;
    tell({ kind: "reward", reward: WOB_RAW_REWARD_GLOBAL, reason: WOB_REWARD_REASON ?? null });
  };

  const begin = () => {
    Math.seedrandom(about.seed);
    core.EPISODE_MAX_TIME = 1e6;
    core.startEpisodeReal();
    const utterance = () => {
      if (!WOB_TASK_READY) return setTimeout(utterance, 20);
      const said = core.getUtterance();
      tell({ kind: "utterance", utterance: typeof said === "string" ? said : said.utterance });
    };
    utterance();
    // A browser may be closed right after its last click: the reward goes out as it is given, and a poll
    // is there for tasks that give it in another way.
    const end = core.endEpisode;
    core.endEpisode = function (...given) {
      end.apply(this, given);
      tellReward();
    };
    setInterval(tellReward, 50);
  };

  // After the page's own handler, which creates what startEpisodeReal needs.
  window.addEventListener("load", () => {
    try {
      begin();
    } catch (error) {
      tell({ kind: "broken", message: String(error) });
    }
  });
})();
