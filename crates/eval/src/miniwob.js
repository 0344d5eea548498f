// The evaluation's side of one episode: starts it with the seed of the query string, reports the instruction, and the
// reward as soon as there is one.
(() => {
  "use strict";
  const query = new URLSearchParams(location.search);
  const tell = (event) =>
    fetch(`/report?episode=${query.get("episode")}`, {
      method: "POST",
      keepalive: true,
      headers: { "content-type": "application/json" },
      body: JSON.stringify(event),
    });

  let told = false;
  const tellReward = () => {
    if (!WOB_DONE_GLOBAL || told) return;
    told = true;
    tell({ kind: "reward", reward: WOB_RAW_REWARD_GLOBAL, reason: WOB_REWARD_REASON ?? null });
  };

  const begin = () => {
    Math.seedrandom(Number(query.get("seed")));
    core.EPISODE_MAX_TIME = 1e6;
    core.startEpisodeReal();
    const instruction = () => {
      if (!WOB_TASK_READY) return setTimeout(instruction, 20);
      const said = core.getUtterance();
      tell({ kind: "instruction", text: typeof said === "string" ? said : said.utterance });
    };
    instruction();
    // A browser may be closed right after its last click: the reward goes out as it is given, and a poll is there for
    // tasks that give it in another way.
    const end = core.endEpisode;
    core.endEpisode = function (...given) {
      end.apply(this, given);
      tellReward();
    };
    setInterval(tellReward, 50);
  };

  // After the page's own handler, which creates what startEpisodeReal needs.
  window.addEventListener("load", begin);
})();
