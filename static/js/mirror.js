// A slider beside a number: each shows what the other says. The number is what is sent.
document.addEventListener("input", (event) => {
  const { id, value, dataset } = event.target;
  const number = dataset.mirrors && document.getElementById(dataset.mirrors);
  if (number) number.value = value;
  const slider = id && document.querySelector(`[data-mirrors="${id}"]`);
  if (slider) slider.value = value;
});
