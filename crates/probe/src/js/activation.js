// @ts-check
// What activating an element requests, as far as its markup says: of its form, and of the scripts that read attributes.
import { attr, attributeNames, getter, matches } from "./tree.js";

const forms = [HTMLButtonElement, HTMLInputElement, HTMLSelectElement, HTMLTextAreaElement].map((type) => ({
  type,
  read: getter(type.prototype, "form"),
}));
/**
 * The form of a control, as the browser associates them.
 * @param {Element} element
 * @returns {HTMLFormElement | null}
 */
export const formOf = (element) => forms.find(({ type }) => element instanceof type)?.read(element) ?? null;
const elementsOf = getter(HTMLFormElement.prototype, "elements");
/**
 * The controls of a form.
 * @param {HTMLFormElement} form
 * @returns {Element[]}
 */
export const controlsOf = (form) => Array.from(elementsOf(form));
const SUBMITTERS = "button:not([type=button i], [type=reset i]), input[type=submit i], input[type=image i]";
/** @param {Element} element */
export const isSubmitter = (element) => matches(element, SUBMITTERS);
/**
 * The button that Enter in a field of a form presses.
 * @param {HTMLFormElement} form
 */
export const defaultButtonOf = (form) => controlsOf(form).find(isSubmitter) ?? null;

const METHODS = ["data-method", "data-turbo-method", "data-http-method"];
const REQUESTS = ["delete", "put", "patch", "post"];
const SCRIPTED = /^(?:data-|hx-)/;
/**
 * The request that the page's scripts are asked to make, as method and address: by `data-method`, or by attributes of
 * htmx.
 * @param {Element} element
 */
export const scriptedRequest = (element) => {
  if (!attributeNames(element).some((name) => SCRIPTED.test(name))) return [null, null];
  for (const name of METHODS) {
    const method = attr(element, name);
    if (method) return [method, attr(element, "href")];
  }
  for (const method of REQUESTS) {
    const url = attr(element, `hx-${method}`) ?? attr(element, `data-hx-${method}`);
    if (url !== null) return [method, url];
  }
  return [null, null];
};
/**
 * The method and the address that activating an element requests, as its markup spells them, and the form that it
 * submits. Of a field, this is what Enter in it does; of a link, only what is beyond where it leads.
 * @param {Element} element
 */
export const requestOf = (element) => {
  const [method, url] = scriptedRequest(element);
  const isSubmit = isSubmitter(element);
  const isField = element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement;
  const form = isSubmit || isField ? formOf(element) : null;
  const submitter = form && (isSubmit ? element : defaultButtonOf(form));
  const said = (name) => (submitter && attr(submitter, `form${name}`)) ?? (form && attr(form, name));
  return {
    method: method ?? said("method"),
    url: url ?? said("action"),
    form,
    submitter: isSubmit ? null : submitter,
  };
};
