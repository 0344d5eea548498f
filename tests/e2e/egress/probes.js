// Every way to the network that a page has. Each probe names itself in the host or the path that it asks for, as
// `p-NAME-q`, or has a port of its own in `ports`.

const { http } = ports;
const at = (name, scheme = "http", site = "evil.test") => `${scheme}://p-${name}-q.${site}:${http}/`;
const secure = (name, site) => at(name, "https", site);
const local = (name, host, scheme = "http") => `${scheme}://${host}:${http}/p-${name}-q`;
const query = fields => new URLSearchParams(fields).toString();
const page = (html, header = "") => `/page?${query({ html, header })}`;
const script = js => `/script?${query({ js })}`;
const to = (name, code = 302) => `/redirect?${query({ to: at(name), code })}`;
const add = (tag, fields, where = document.body) =>
    where.appendChild(Object.assign(document.createElement(tag), fields));
const frame = (html, header) => add("iframe", { src: page(html, header) });
const tab = (html, header) => open(page(html, header));
const fetching = name => `fetch(${JSON.stringify(at(name))}, { mode: "no-cors" }).catch(() => {});`;
const rules = (kind, url) => add("script", {
    type: "speculationrules",
    text: JSON.stringify({ [kind]: [{ source: "list", urls: [url], eagerness: "immediate" }] }),
});
const inline = js => `<body><script>${js}</` + `script>`;

const plain = {
    // Resources
    img: () => (new Image().src = at("img")),
    imgRedirected: () => (new Image().src = to("imgRedirected")),
    imgByAddress: () => (new Image().src = local("imgByAddress", "127.0.0.2")),
    script: () => add("script", { src: at("script") }),
    css: () => add("link", { rel: "stylesheet", href: at("css") }),
    cssImage: () => (document.body.style.backgroundImage = `url(${at("cssImage")})`),
    font: () => new FontFace("x", `url(${at("font")})`).load().catch(() => {}),
    video: () => add("video", { src: at("video"), preload: "auto" }),
    audio: () => add("audio", { src: at("audio"), preload: "auto" }),
    object: () => add("object", { data: at("object"), type: "text/html" }),
    embed: () => add("embed", { src: at("embed"), type: "text/html" }),
    base: () => frame(`<base href="${at("base")}"><img src="x">`),
    svg: () => add("img", { src: at("svg") + "#x" }),
    module: () => import(at("module")).catch(() => {}),
    // Hints
    prefetch: () => add("link", { rel: "prefetch", href: at("prefetch") }),
    preload: () => add("link", { rel: "preload", as: "script", href: at("preload") }),
    modulepreload: () => add("link", { rel: "modulepreload", href: at("modulepreload") }),
    headerPreload: () => tab("x", `Link: <${at("headerPreload")}>; rel=preload; as=script`),
    manifest: () => add("link", { rel: "manifest", href: at("manifest") }, document.head),
    // Reports
    beacon: () => navigator.sendBeacon(at("beacon"), "x"),
    beaconAtUnload: () => {
        const name = at("beaconAtUnload");
        const leaving = frame(inline(`addEventListener("pagehide", () => navigator.sendBeacon("${name}", "x"))`));
        leaving.onload = () => leaving.remove();
    },
    ping: () => add("a", { href: "#x", ping: at("ping") }).click(),
    cspReport: () => frame(`<img src="/x.png">`, `Content-Security-Policy: img-src 'none'; report-uri ${at("cspReport")}`),
    // Requests
    fetch: () => eval(fetching("fetch")),
    fetchPost: () => fetch(at("fetchPost"), { method: "POST", mode: "no-cors", body: "x" }).catch(() => {}),
    fetchRedirected: () => fetch(to("fetchRedirected"), { mode: "no-cors" }).catch(() => {}),
    keepalive: () => fetch(at("keepalive"), { mode: "no-cors", keepalive: true }).catch(() => {}),
    fetchLater: () => fetchLater(secure("fetchLater"), { activateAfter: 0 }),
    xhr: () => {
        const request = new XMLHttpRequest();
        request.open("GET", at("xhr"));
        request.send();
    },
    eventSource: () => new EventSource(at("eventSource")),
    webSocket: () => new WebSocket(at("webSocket", "ws")),
    webSocketSecure: () => new WebSocket(at("webSocketSecure", "wss")),
    webSocketStream: () => new WebSocketStream(at("webSocketStream", "ws")).opened.catch(() => {}),
    https: () => fetch(at("https", "https"), { mode: "no-cors" }).catch(() => {}),
    // Workers
    worker: () => new Worker(script(fetching("worker"))),
    workerBlob: () => new Worker(URL.createObjectURL(new Blob([fetching("workerBlob")]))),
    workerNested: () => new Worker(script(`new Worker(${JSON.stringify(script(fetching("workerNested")))})`)),
    workerImport: () => new Worker(script(`importScripts(${JSON.stringify(at("workerImport"))})`)),
    workerSocket: () => new Worker(script(`new WebSocket(${JSON.stringify(at("workerSocket", "ws"))})`)),
    sharedWorker: () => new SharedWorker(script(fetching("sharedWorker"))),
    serviceWorker: () => navigator.serviceWorker.register(script(fetching("serviceWorker")), { scope: "/nowhere/" }),
    sharedWorkerImport: () => new SharedWorker(script(`importScripts(${JSON.stringify(at("sharedWorkerImport"))})`)),
    sharedSocket: () => new SharedWorker(script(`new WebSocket(${JSON.stringify(at("sharedSocket", "ws"))})`)),
    serviceWorkerImport: () => serving("import", `importScripts(${JSON.stringify(at("serviceWorkerImport"))})`),
    serviceWorkerSocket: () => serving("socket", `new WebSocket(${JSON.stringify(at("serviceWorkerSocket", "ws"))})`),
    workerTransport: () => new Worker(script(
        `new WebTransport("https://127.0.0.1:${ports.workerTransport}/").ready.catch(() => {})`)),
    paintWorklet: () => CSS.paintWorklet.addModule(at("paintWorklet")).catch(() => {}),
    // Frames
    frame: () => add("iframe", { src: at("frame") }),
    frameRedirected: () => add("iframe", { src: to("frameRedirected") }),
    frameSrcdoc: () => add("iframe", { srcdoc: `<img src="${at("frameSrcdoc")}">` }),
    frameData: () => add("iframe", { src: `data:text/html,<img src="${at("frameData")}">` }),
    frameBlob: () => {
        const html = new Blob([`<img src="${at("frameBlob")}">`], { type: "text/html" });
        add("iframe", { src: URL.createObjectURL(html) });
    },
    frameIsolated: () => add("iframe", {
        src: `http://localhost:${location.port}` + page(`<iframe src="${at("frameIsolated")}"></iframe>`),
    }),
    frameSandboxed: () => add("iframe", { sandbox: "allow-scripts", srcdoc: inline(fetching("frameSandboxed")) }),
    // Navigations
    location: () => tab(inline(`location = "${at("location")}"`)),
    redirected: () => open(to("redirected")),
    metaRefresh: () => tab(`<meta http-equiv="refresh" content="0;url=${at("metaRefresh")}">`),
    headerRefresh: () => tab("x", `Refresh: 0;url=${at("headerRefresh")}`),
    open: () => open(at("open")),
    openUnrelated: () => open(at("openUnrelated"), "", "noopener"),
    blankThenWritten: () => open("about:blank").document.write(`<img src="${at("blankThenWritten")}">`),
    blankThenRedirected: () => (open("about:blank").location = new URL(to("blankThenRedirected"), location).href),
    blobPage: () => tab(inline(`location = URL.createObjectURL(new Blob(['<img src="${at("blobPage")}">'],`
        + `{ type: "text/html" }))`)),
    blobOpened: () => open(URL.createObjectURL(new Blob([`<img src="${at("blobOpened")}">`], { type: "text/html" }))),
    favicon: () => tab(`<link rel="icon" href="${at("favicon")}">x`),
    form: () => tab(inline("") + `<form method="post" action="${at("form")}"><input name="a" value="b"></form>`
        + inline("document.forms[0].submit()")),
    formRedirected: () => tab(`<form method="post" action="${to("formRedirected", 307).replaceAll("&", "&amp;")}"></form>`
        + inline("document.forms[0].submit()")),
    formRewritten: () => tab(`<form action="/page"><button></button></form>` + inline(
        `document.forms[0].onsubmit = event => (event.target.action = "${at("formRewritten")}");`
        + `document.querySelector("button").click()`)),
    formElsewhere: () => tab(`<form target="_blank" action="${at("formElsewhere")}"></form>`
        + inline("document.forms[0].submit()")),
    download: () => tab(`<a download href="${at("download")}">x</a>` + inline(`document.querySelector("a").click()`)),
    downloadRedirected: () => tab(`<a download href="${to("downloadRedirected").replaceAll("&", "&amp;")}">x</a>`
        + inline(`document.querySelector("a").click()`)),
    // This machine
    loopback: () => fetch(local("loopback", "127.0.0.1"), { mode: "no-cors" }).catch(() => {}),
    loopbackName: () => fetch(local("loopbackName", "localhost"), { mode: "no-cors" }).catch(() => {}),
    loopbackSix: () => fetch(local("loopbackSix", "[::1]"), { mode: "no-cors" }).catch(() => {}),
    loopbackBelow: () => fetch(local("loopbackBelow", "a.localhost"), { mode: "no-cors" }).catch(() => {}),
    loopbackPage: () => open(local("loopbackPage", "127.0.0.1")),
    loopbackSocket: () => new WebSocket(local("loopbackSocket", "127.0.0.1", "ws")),
    loopbackMapped: () => fetch(local("loopbackMapped", "[::ffff:127.0.0.1]"), { mode: "no-cors" }).catch(() => {}),
    // By a port of its own
    preconnect: () => add("link", { rel: "preconnect", href: `http://silent.evil.test:${ports.preconnect}` }),
    headerPreconnect: () => tab("x", `Link: <http://silent.evil.test:${ports.headerPreconnect}>; rel=preconnect`),
    stun: () => gather(`stun:p-stun-q.evil.test:${ports.stun}`),
    stunByAddress: () => gather(`stun:127.0.0.1:${ports.stunByAddress}`),
    turnByAddress: () => gather(`turn:127.0.0.1:${ports.turnByAddress}?transport=udp`),
    turnTcp: () => gather(`turn:p-turnTcp-q.evil.test:${ports.turnTcp}?transport=tcp`),
    turnTcpByAddress: () => gather(`turn:127.0.0.1:${ports.turnTcpByAddress}?transport=tcp`),
    turns: () => gather(`turns:p-turns-q.evil.test:${ports.turns}?transport=tcp`),
    peer: () => meet(ports.peer),
    webTransport: () => new WebTransport(`https://p-x-q.evil.test:${ports.webTransport}/`).ready.catch(() => {}),
    webTransportByAddress: () => new WebTransport(`https://127.0.0.1:${ports.webTransportByAddress}/`)
        .ready.catch(() => {}),
    // By the look-up of its name
    dnsPrefetch: () => add("link", { rel: "dns-prefetch", href: "//p-dnsPrefetch-q.evil.test" }),
};

// What only a page with TLS and a name may do.
const secured = {
    reporting: () => frame(`<img src="/x.png">`, `Reporting-Endpoints: e="${secure("reporting")}"\n`
        + `Content-Security-Policy: img-src 'none'; report-to e`),
    audioWorklet: () => keep(new AudioContext()).audioWorklet.addModule(secure("audioWorklet")).catch(() => {}),
    speculatedPrefetch: () => rules("prefetch", secure("speculatedPrefetch")),
    speculatedPrerender: () => rules("prerender", secure("speculatedPrerender", "trying.test")),
    speculatedRedirect: () => rules("prerender",
        `/redirect?${query({ to: secure("speculatedRedirect", "trying.test") })}`),
    speculatedByHeader: () => tab("x", `Speculation-Rules: "${secure("speculatedByHeader")}"`),
    fedcm: () => navigator.credentials.get({
        identity: { providers: [{ configURL: secure("fedcm") + "config.json", clientId: "x" }] },
    }),
    payment: () => {
        const total = { label: "x", amount: { currency: "EUR", value: "1" } };
        return new PaymentRequest([{ supportedMethods: secure("payment") }], { total }).canMakePayment();
    },
    webauthn: () => navigator.credentials.get({
        publicKey: { challenge: new Uint8Array(16), rpId: "p-webauthn-q.evil.test", timeout: 20000 },
    }),
    backgroundFetch: async () => {
        await navigator.serviceWorker.register(script(""), { scope: "/" });
        const worker = await navigator.serviceWorker.ready;
        return worker.backgroundFetch.fetch(String(Math.random()), [secure("backgroundFetch")]);
    },
};

// A service worker keeps what fails while it is installed.
function serving(scope, js) {
    return navigator.serviceWorker.register(script(`try { ${js} } catch {}`), { scope: `/${scope}/` });
}

// Or the collector of garbage ends it.
function keep(object) {
    (window.kept ??= []).push(object);
    return object;
}

function gather(urls) {
    const peer = keep(new RTCPeerConnection({ iceServers: [{ urls, username: "u", credential: "c" }] }));
    peer.createDataChannel("");
    return peer.createOffer().then(offer => peer.setLocalDescription(offer));
}

// Two peers agree, and one is sent elsewhere.
async function meet(port) {
    const [one, other] = [keep(new RTCPeerConnection()), keep(new RTCPeerConnection())];
    one.createDataChannel("");
    await one.setLocalDescription(await one.createOffer());
    await other.setRemoteDescription(one.localDescription);
    await other.setLocalDescription(await other.createAnswer());
    await one.setRemoteDescription(other.localDescription);
    await one.addIceCandidate({ candidate: `candidate:1 1 udp 2122260223 127.0.0.1 ${port} typ host`, sdpMid: "0" });
}

// Those that open tabs hide their page, and a page that is hidden does not do everything.
const opens = probe => /\b(tab|open)\(/.test(String(probe));
const group = location.protocol === "https:" ? secured : plain;
const wanted = Object.entries(group).filter(([, probe]) => opens(probe) === (location.hash === "#tabs"));
const tried = [];
for (const [name, probe] of wanted) {
    try {
        Promise.resolve(probe()).catch(error => (document.documentElement.dataset.failed += ` ${name}: ${error}`));
        tried.push(name);
    } catch (error) {
        tried.push(`${name} (${error})`);
    }
}
document.title = tried.join(" ");
