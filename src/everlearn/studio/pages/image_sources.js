// Images from the camera, the clipboard and dropped files, for a canvas.

import { decodeImage } from "./api.js";
import { errorBox, h } from "./dom.js";

const NO_CAMERA =
  "The browser gives no access to a camera. It needs one, your permission, and an address with https or localhost.";

/** A button that opens the camera; the photo is shown on the canvas. */
export function cameraButton(canvas) {
  return h("button", { type: "button", className: "small", onclick: () => openCamera(canvas) }, "Camera");
}

function openCamera(canvas) {
  const errors = errorBox();
  const inline = { playsInline: true }; // check-words: allow
  const video = h("video", { className: "image", muted: true, "aria-label": "Camera", ...inline });
  const take = h("button", { type: "button", className: "main", disabled: true }, "Take photo");
  const cancel = h("button", { type: "button", onclick: () => dialog.close() }, "Cancel");
  let stream = null;
  const onclose = () => {
    stream?.getTracks().forEach((track) => track.stop());
    dialog.remove();
  };
  const parts = [h("h2", {}, "Camera"), errors.box, video, h("div", { className: "bar" }, take, cancel)];
  const dialog = h("dialog", { "aria-label": "Camera", onclose }, parts);
  take.onclick = () => {
    const { videoWidth: width, videoHeight: height } = video;
    const side = Math.min(width, height);
    const photo = h("canvas", { width: side, height: side });
    photo.getContext("2d").drawImage(video, (side - width) / 2, (side - height) / 2);
    canvas.setImage(photo);
    dialog.close();
  };
  document.body.append(dialog);
  dialog.showModal();
  errors.attempt(async () => {
    if (!navigator.mediaDevices) throw new Error(NO_CAMERA);
    const camera = { video: { facingMode: "environment" } };
    stream = await navigator.mediaDevices.getUserMedia(camera).catch(() => {
      throw new Error(NO_CAMERA);
    });
    if (!dialog.isConnected) return onclose(); // it was closed meanwhile
    video.srcObject = stream;
    await video.play(); // check-words: allow
    take.disabled = false;
  });
}

/** Shows images that are pasted on the page or dropped on the canvas; returns a function that ends this. */
export function acceptImages(canvas, attempt) {
  const use = (files) => {
    const file = [...files].find(({ type }) => type.startsWith("image/"));
    if (file) attempt(async () => canvas.setImage(await decodeImage(file)));
  };
  const onpaste = (event) => {
    if (canvas.element.isConnected) use(event.clipboardData.files);
  };
  canvas.element.addEventListener("dragover", (event) => event.preventDefault());
  canvas.element.addEventListener("drop", (event) => {
    event.preventDefault();
    use(event.dataTransfer.files);
  });
  addEventListener("paste", onpaste);
  return () => removeEventListener("paste", onpaste);
}
