// @ts-check
// The core: what the layers call in a page, and what their scripts import.
export {
  attr, attributeNames, bodyElement, boundingRect, byId, characterData, childrenOf, clientHeight, clientWidth, closest,
  collapse, composedParentOf, contains, cut, elementAt, elementChildren, everyElement, firstChild, focusedIn,
  hasAttribute, hostOf, idOf, isConnected, isElement, lookOf, matches, namespace, newRange, nextSibling, nodeType,
  notedRoots, noteRoot, once, pageScroller, parentNode, parentOf, queryAll, registerClosedRoot, rootElement, rootNode,
  scrolledTo, scrollHeight, scrollWidth, shadowOf, styleOf, tagOf, textContent, typeOf,
} from "./tree.js";
export { controlsOf, defaultButtonOf, formOf, requestOf, scriptedRequest } from "./activation.js";
export { boxesFrom, rowOf } from "./codes.js";
export { isEditingHost, isFocusable, roleOf } from "./roles.js";
export {
  contentOf, controlValue, describable, descriptionOf, errorMessageOf, generatedText, isAriaHidden, isExcluded,
  isHidden, isMenuOf, labelsOf, labelTexts, nameOf, referenced, selectedOptions,
} from "./names.js";
export {
  hidesText, isListed, isRevealed, isSensitive, optionsOf, receivesSecret, secretFields, statesOf, unpictured,
  valueOf,
} from "./states.js";
export {
  boxOf, clippedBox, editorOf, intersect, isLegible, isOffPage, isShown, isVisible, overflows, ownerBox, scrollerOf,
  standInOf,
} from "./visible.js";
export { factsOf, testIdOf, TEXT_LIMIT, textOf, textWithout } from "./facts.js";
export {
  aboutOf, ACTABLE, beforeArrival, besideOf, calledBy, crowned, crownOf, digestOf, fallbackOf, headingIn, isAbout,
  itemNamesOf, meaningOf, onArrival, ownOf, ownText, partText, placeOf, rankOf, shortText, textHead,
  wordsOf,
} from "./context.js";
export { boxOfChoice, comboOf, displayOf, drawnChoice, isClosable } from "./choosing.js";
export { byCss } from "./css.js";
export { locate, relativeTo } from "./locate.js";
export {
  animations, baseUri, checked, choices, control, destinationOf, firstElement, indeterminate, isDesigned, listen,
  nextElement, ownerDocument, readyState, sheets, shows, title,
} from "./tools.js";
