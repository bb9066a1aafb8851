from rubricweb.campaigns.adjudication.urls import urlpatterns as adjudication
from rubricweb.campaigns.queue.urls import urlpatterns as queue

app_name = "campaigns"
urlpatterns = [*queue, *adjudication]
