// Dialogs about records: name, tags and note; other folders; the trash.

import { get, post, postJson } from "./api.js";
import { confirmed, errorBox, fill, h, showStatus } from "./dom.js";

const TRASH =
  "Deleted records keep their place on the disk until the trash is emptied. Emptying it erases their files for good.";
const FOLDER = "The path of a record, or of a folder that contains records, on the machine of the studio.";

/** A dialog with a form; resolves when it is closed. `submit` returns whether it is done. */
function formDialog(title, action, submit, ...fields) {
  return new Promise((resolve) => {
    const errors = errorBox();
    const onsubmit = async (event) => {
      event.preventDefault();
      if (await errors.attempt(async () => ((await submit()), true))) dialog.close();
    };
    const main = action ? h("button", { className: "main", type: "submit" }, action) : null;
    const cancel = h("button", { type: "button", onclick: () => dialog.close() }, action ? "Cancel" : "Close");
    const buttons = h("div", { className: "bar" }, main, cancel);
    const form = h("form", { "aria-label": title, onsubmit }, h("h2", {}, title), fields, errors.box, buttons);
    const onclose = () => (dialog.remove(), resolve());
    const dialog = h("dialog", { "aria-label": title, onclose }, form);
    document.body.append(dialog);
    dialog.showModal();
  });
}

const field = (label, input) => h("div", { className: "field" }, h("label", { htmlFor: input.id }, label), input);

/** Edits the name, tags and note of a record; `remove` moves it to the trash. */
export function editRecord({ record, name, tags = [], note = "" }, remove) {
  const inputs = {
    name: h("input", { id: "record-name", value: name, maxLength: 200, autocomplete: "off", placeholder: record }),
    tags: h("input", { id: "record-tags", value: tags.join(" "), autocomplete: "off" }),
    note: h("textarea", { id: "record-note", rows: 5, maxLength: 10_000, value: note }),
  };
  const submit = () =>
    postJson(
      "records/edit",
      {
        name: inputs.name.value,
        tags: inputs.tags.value.split(/[\s,]+/).filter(Boolean),
        note: inputs.note.value,
      },
      { record },
    );
  const onclick = async (event) => {
    event.target.closest("dialog").close();
    await remove(record);
  };
  return formDialog(
    "Edit record",
    "Save",
    submit,
    h("p", {}, record),
    field("Name", inputs.name),
    field("Tags, separated by spaces", inputs.tags),
    field("Note", inputs.note),
    h("p", {}, h("button", { type: "button", className: "small danger", onclick }, "Move to the trash")),
  );
}

/** Asks for a folder and adds its records to the list. */
export function openFolder() {
  const input = h("input", { id: "folder", required: true, maxLength: 1000, autocomplete: "off" });
  const submit = async () => {
    const { records } = await post("records/open", { folder: input.value.trim() });
    showStatus(`${records.length} ${records.length === 1 ? "record was" : "records were"} added to the list.`);
  };
  return formDialog("Open another folder", "Open", submit, h("p", {}, FOLDER), field("Path", input));
}

/** Shows the deleted records, to restore them or to erase them. */
export async function showTrash() {
  const list = h("ul", { className: "trash" });
  const errors = errorBox();
  const draw = async () => {
    const { items } = await get("trash");
    const restore = (item) =>
      errors.attempt(async () => {
        await post("trash/restore", { item });
        await draw();
      });
    const row = ({ item, record }) => {
      const label = `Restore ${record}`;
      const button = h("button", { type: "button", className: "small", "aria-label": label }, "Restore");
      button.onclick = () => restore(item);
      return h("li", {}, h("span", {}, record), button);
    };
    fill(list, items.length ? items.map(row) : h("li", {}, "The trash is empty."));
    empty.disabled = !items.length;
  };
  const erase = async () => {
    if (!(await confirmed("Empty the trash?", TRASH, "Erase"))) return;
    await errors.attempt(async () => {
      const { n_erased: n } = await post("trash/empty");
      showStatus(`${n} ${n === 1 ? "record was" : "records were"} erased.`);
      await draw();
    });
  };
  const empty = h("button", { type: "button", className: "small danger", onclick: erase }, "Empty the trash");
  await draw();
  return formDialog("Trash", null, () => true, h("p", {}, TRASH), errors.box, list, h("p", {}, empty));
}
