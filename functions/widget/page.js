/** The demo page: language, snippet and buttons. It runs before widget.js, and so can set the widget's language. */

const SPANISH = {
  heading: "Tu sitio responde y muestra dónde lo dice",
  what: "Portavoz lee las páginas de un sitio web y responde a las preguntas de sus visitantes solo con ellas. Cada afirmación lleva un número que conduce a la frase exacta de la página de la que sale, y esa frase se comprueba antes de mostrar la respuesta.",
  honest: "Cuando el sitio no dice algo, Portavoz lo reconoce e indica cómo hablar con una persona. Una página que cambia responde con su texto nuevo en cuanto se indexa, y una que ya no existe deja de citarse.",
  ask: "Haz una pregunta",
  toEmbed: "Ponlo en tu sitio",
  searchTitle: "O simplemente busca",
  searchText: "El mismo índice sin modelo: los pasajes que coinciden por significado, primero los mejores.",
  embedTitle: "Una línea lo pone en tu sitio",
  embedText: "Pégala antes del final del body. No lleva ninguna clave: el servidor solo responde a los sitios que su dueño permite.",
  copy: "Copiar",
  options: "Opciones",
  optLang: "en, es, fr, de, pt o it; si falta, el idioma de la página",
  optTitle: "el nombre en la parte superior del panel",
  optStarters: "preguntas para empezar, separadas por |",
  optContact: "adónde enviar a quien necesita hablar con una persona",
  optPosition: "right (derecha) o left (izquierda)",
  optTheme: "auto, light (claro) o dark (oscuro)",
  optMode: "un buscador en su lugar, dentro del elemento que nombra data-target",
  optAccent: "una variable CSS para el color; también -accent-text, -background, -text, -muted, -border, -radius y -font",
  optApi: "desde tus scripts; también close(), ask(texto) y on(evento, función)",
};
const WORDS = {
  en: { copied: "Copied", failed: "It could not be copied: select the text instead" },
  es: { copied: "Copiado", failed: "No se pudo copiar: selecciona el texto" },
};

const wanted = new URLSearchParams(location.search).get("lang") ?? navigator.language;
const lang = wanted.startsWith("es") ? "es" : "en";
const byId = (id) => document.getElementById(id);

document.documentElement.lang = lang;
document.querySelector(`nav [lang=${lang}]`).setAttribute("aria-current", "true");
if (lang === "es") for (const element of document.querySelectorAll("[data-text]")) element.textContent = SPANISH[element.dataset.text];

byId("snippet").textContent = `<script src="${new URL("widget.js", location.href).href}" defer></script>`;
byId("ask").addEventListener("click", () => window.portavoz.open());
byId("copy").addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(byId("snippet").textContent);
    byId("copied").textContent = WORDS[lang].copied;
  } catch (error) {
    console.warn("portavoz:", error); // no permission, or a page without https
    byId("copied").textContent = WORDS[lang].failed;
  }
});
